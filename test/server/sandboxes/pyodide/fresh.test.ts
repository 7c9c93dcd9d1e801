/**
 * Do the built-in Python programs run in a warm engine, in any order and between programs of any kind, as they do where
 * all of the memory is copied back after each call?
 */

import { readFile } from "node:fs/promises";
import { beforeAll, describe, expect, it } from "vitest";
import { gymnasiumStub, pythonBridge } from "../../../../envs/code-gym/bridge.py.ts";
import { Booted, type Call, type Outcome } from "./boot.ts";
import { leaks, programOf } from "./leaking.ts";

const CALLS = 250;
const folder = new URL("../../../../fixtures/code-gym/", import.meta.url);

interface Task {
  program: string;
  payload?: unknown;
  literal?: string;
}
interface Session {
  call: Pick<Call, "program" | "modules">;
  tools: { name: string; parameters: { name: string }[] }[];
  states: Buffer[];
}

let warm: Booted;
let careful: Booted;
const sessions: Session[] = [];
/** Bytes that the last call of `warm` cost. */
let copied = 0;

beforeAll(async () => {
  [warm, careful] = [await Booted.start(), await Booted.start()];
  const take = warm.python.memory.takeWritten.bind(warm.python.memory);
  warm.python.memory.takeWritten = (run) =>
    take((from, to) => {
      copied += to - from;
      run(from, to);
    });
  const { memory } = careful.python;
  const takeCarefully = memory.takeWritten.bind(memory);
  memory.takeWritten = (run) => {
    memory.wroteAnywhere();
    takeCarefully(run);
  };
  const lines = (await readFile(new URL("tasks.jsonl", folder), "utf8")).trim().split("\n");
  const tasks = lines.map((line) => JSON.parse(line) as Task).filter(({ program }) => program.endsWith(".py"));
  for (const [program, instances] of Map.groupBy(tasks, ({ program }) => program)) {
    const source = await readFile(new URL(program, folder), "utf8");
    const call = { program: [source, pythonBridge], modules: { gymnasium: gymnasiumStub } };
    const states = instances.map(({ payload = null, literal = null }) => {
      const { head, state } = warm.call({ ...call, entry: "trailgym_reset", args: [1, null, payload, literal] });
      expect(JSON.parse(head), program).toMatchObject({ status: "ok" });
      return state;
    });
    const { value } = warm.call({ ...call, entry: "trailgym_describe", state: states[0] });
    sessions.push({ call, states, tools: (JSON.parse(value) as Pick<Session, "tools">).tools });
  }
}, 120_000);

/** The same numbers in every run. */
function draws(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

const values = [0, 1, 2, 3, -1, 7, 1.5, "", "a", "A1", "O1", true, null, [], [1, 2], {}, { a: 1 }];
const killers = [
  "def f(s):\n    while True: pass",
  "def f(s):\n    kept = []\n    while True: kept.append([0] * 100)",
  "import os\ndef f(s): os._exit(1)",
  "def f(s): return f(s)",
  "import builtins, json\nbuiltins.len = json.dumps = None\ndef f(s): raise ValueError",
];

describe("the built-in Python programs", () => {
  it("are twelve, and each step of them costs the copy of a small part of the memory", () => {
    expect(sessions).toHaveLength(12);
    for (const { call, tools, states } of sessions) {
      const step = { ...call, entry: "trailgym_step", args: [1, action("Observe", {})], state: states[0] };
      expect(tools.map(({ name }) => name)).toContain("Observe");
      warm.call(step);
      copied = 0;
      warm.call(step);
      expect(copied).toBeGreaterThan(10_000);
      expect(copied).toBeLessThan(warm.memory().length / 40);
    }
  });

  it("pay for small objects by their size, not for gaps all over the memory", () => {
    const call = { program: ["def f(s): return len(s or ()), list(range(1000, 4000))"] };
    const { state } = warm.call(call);
    copied = 0;
    warm.call({ ...call, state });
    // Twice 3,000 integers of 16 bytes each, and what a call costs anyway.
    expect(copied).toBeLessThan(500_000);
  });

  it("answer the same, bit for bit", () => {
    const draw = draws(7);
    const of = <T>(list: readonly T[]): T => list[draw(list.length)]!;
    const played: { call: Call; outcome: Outcome }[] = [];
    for (let i = 0; i < CALLS; i++) {
      const { call: program, tools, states } = of(sessions);
      const { name, parameters } = of(tools);
      const given = Object.fromEntries(parameters.map((parameter) => [parameter.name, of(values)]));
      const [entry, args] =
        draw(12) === 0 ? ["trailgym_solve", [draw(9)]] : ["trailgym_step", [draw(9), action(name, given)]];
      const call: Call = { ...program, entry, args, state: of(states) };
      const outcome = warm.call(call);
      played.push({ call, outcome });
      if (outcome.state.length > 0 && entry === "trailgym_step") states.push(outcome.state);
      if (draw(5) === 0) warm.call({ program: [programOf(of(leaks))] });
      if (draw(25) === 0) warm.call({ program: [of(killers)], limits: { timeMs: 50 } });
    }
    const failed = played.filter(({ outcome }) => !outcome.head.includes('"ok"'));
    expect(failed.length).toBeLessThan(CALLS / 4);
    for (const engine of [careful, warm]) {
      // Another order each time: what came before must not matter.
      for (let i = played.length - 1; i > 0; i--) {
        const j = draw(i + 1);
        [played[i], played[j]] = [played[j]!, played[i]!];
      }
      for (const { call, outcome } of played) expect(engine.call(call)).toEqual(outcome);
    }
  }, 300_000);
});

function action(name: string, parameters: unknown): string {
  return JSON.stringify({ name, parameters });
}
