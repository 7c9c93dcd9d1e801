import type { Interpreter, Language, ToolObservation } from "trailgym/env";
import { SandboxLost } from "trailgym/env";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import env from "../../../envs/code-gym/code-gym.env.ts";
import type { CodeGymTask } from "../../../envs/code-gym/task.ts";
import { createInterpreters } from "../../../server/sandboxes/interpreters.ts";
import { context, play, type Player } from "../context.ts";
import { lampsTask, parcelsTask } from "./dataset.ts";
import { lamps, parcels } from "./programs.ts";

const interpreters = createInterpreters({ processes: 1 });
afterAll(() => interpreters[Symbol.asyncDispose]());
const interpreter = (language: Language) => interpreters.interpreter(language);

/** Starting a Python takes seconds, many on a busy machine; that is not what these tests are about. */
async function warm(language: Language): Promise<void> {
  const program = language === "python" ? "def f(state): return [None, None]" : "function f() { return [null, null] }";
  const call = { program: [program], entry: "f", limits: { timeMs: 60_000 } };
  await interpreter(language).call(call, new AbortController().signal);
}

const start = (task: CodeGymTask, options = {}) => play(env, { task, interpreter }, options);
const check = async (task: CodeGymTask) => env.checkTask?.(context({ task, interpreter }));
const seen = (player: Player) => player.observation as ToolObservation;
const says = (pattern: RegExp) => ({ content: expect.stringMatching(pattern) as string, isError: true });

/** What holds in both languages. */
const programs = [
  {
    language: "javascript",
    task: lampsTask,
    source: lamps,
    tools: ["Length", "Read", "Spoil", "Observe", "Done"],
    call: { tool: "Read", arguments: { at: 1 } },
    reply: "off",
    right: { of: 3, on: 2 },
    wrong: { of: 3, on: 1 },
    observed: "reads: 0",
    referenceCalls: 5,
  },
  {
    language: "python",
    task: parcelsTask,
    source: parcels,
    tools: ["CountParcels", "WeighParcel", "HeavierOf", "Spoil", "Observe", "Done"],
    call: { tool: "WeighParcel", arguments: { index: 1 } },
    reply: "9",
    right: [1, 2],
    wrong: [0, 1],
    observed: `sender=a@b \\@ '", fragile=True, note=None`,
    referenceCalls: 5,
  },
] as const;

describe.each(programs)("a $language program", (program) => {
  const { task, tools, call, right, wrong } = program;
  beforeAll(() => warm(program.language), 120_000);

  it("shows the question and the tools that it has, and no example, payload or answer", async () => {
    const player = await start(await task());
    expect(seen(player).content).toMatch(/^(How many|Which two)/);
    expect(player.tools.map(({ name }) => name)).toEqual(tools);
    expect(JSON.stringify([player.tools, player.observation])).not.toMatch(/SECRET|Example|a@b/);
  });

  it("answers calls from its state", async () => {
    const player = await start(await task());
    await player.step(call);
    expect(seen(player)).toEqual({ content: program.reply, isError: false });
  });

  it("gives reward 1 for a right first answer, 0 for a wrong one, with one reply for both", async () => {
    const [winner, loser] = [await start(await task()), await start(await task())];
    expect(await winner.step({ tool: "Done", arguments: { answer: right } })).toMatchObject({
      reward: 1,
      terminated: true,
    });
    expect(await loser.step({ tool: "Done", arguments: { answer: wrong } })).toMatchObject({
      reward: 0,
      terminated: true,
    });
    expect(winner.observation).toEqual({ content: "The answer was received. The episode has ended.", isError: false });
    expect(loser.observation).toEqual(winner.observation);
  });

  it("cannot be won by a second answer", async () => {
    const player = await start(await task());
    await player.step({ tool: "Done", arguments: { answer: wrong } });
    expect(await player.step({ tool: "Done", arguments: { answer: right } })).toMatchObject({
      reward: 0,
      terminated: true,
    });
  });

  it("is truncated with reward 0 at the call budget", async () => {
    const player = await start(await task({ maxCalls: 2 }));
    expect(await player.step(call)).toMatchObject({ truncated: false });
    expect(await player.step({ tool: "Nonsense" })).toMatchObject({ truncated: true, terminated: false, reward: 0 });
    const short = await start(await task(), { maxCalls: 1 });
    expect(await short.step(call)).toMatchObject({ truncated: true });
  });

  it("takes Observe and Done by the names of the prompt, by their own and by synonyms", async () => {
    const player = await start(await task({ names: { Observe: "Gaze", Done: "HandIn" } }));
    expect(player.tools.map(({ name }) => name).slice(-2)).toEqual(["Gaze", "HandIn"]);
    for (const tool of ["Gaze", "Observe", "look_around"]) {
      await player.step({ tool });
      expect(seen(player)).toEqual({ content: program.observed, isError: false });
    }
    const last = '<|FunctionCallBegin|>[{"name":"HandIn","parameters":{"answer":ANSWER}}]<|FunctionCallEnd|>';
    expect(await player.step(last.replace("ANSWER", JSON.stringify(right)))).toMatchObject({ reward: 1 });
  });

  it("plays its own solution as reference, and passes the check", async () => {
    expect(await check(await task({ referenceCalls: program.referenceCalls }))).toEqual([]);
    expect(await check(await task({ names: { Done: "HandIn" } }))).toEqual([]);
  });

  it("is found out by the check when the recorded call count is another", async () => {
    const problems = await check(await task({ referenceCalls: 7 }));
    expect(problems).toEqual(["its own solution takes 5 calls, 7 are recorded"]);
  });

  const limits: [how: string, status: string, says: RegExp][] = [
    ["loop", "timeout", /failed: the tool ran longer than its time limit of 3000 ms\. Nothing has changed\./],
    ["memory", "outOfMemory", /memory limit of 128 MiB/],
    ["print", "outputTooLarge", /output limit of 1048576 bytes/],
  ];
  it.each(limits)(
    "that passes a limit (%s) is an observation, and its state is as before",
    async (how, status, told) => {
      const player = await start(await task());
      await player.step({ tool: "Observe" });
      const before = player.state as { calls: number; state: unknown };
      const outcome = await player.step({ tool: "Spoil", arguments: { how } });
      expect(seen(player)).toEqual(says(told));
      expect(outcome).toMatchObject({ terminated: false, truncated: false, reward: 0, info: { failure: status } });
      expect(player.state).toEqual({ ...before, calls: 2 });
      await player.step(call);
      expect(seen(player)).toEqual({ content: program.reply, isError: false });
    },
  );

  it("refuses missing, unexpected and badly typed arguments without running", async () => {
    const player = await start(await task());
    const [name] = Object.keys(call.arguments) as [string];
    const tries: [unknown, RegExp][] = [
      [{}, new RegExp(`"${name}" is missing`)],
      [{ ...call.arguments, more: 1 }, /there is no "more"/],
      [{ [name]: "1" }, new RegExp(`"${name}" must be .*not a string`)],
    ];
    for (const [args, told] of tries) {
      await player.step({ tool: call.tool, arguments: args });
      expect(seen(player)).toEqual(says(told));
    }
  });

  it("draws the same lots in every replay", async () => {
    const draw = async () => {
      const player = await start(await task());
      await player.step({ tool: "Spoil", arguments: { how: "random" } });
      return player;
    };
    const [one, two] = [await draw(), await draw()];
    expect(seen(one)).toMatchObject({ isError: false });
    expect(one.observation).toEqual(two.observation);
    expect(one.state).toEqual(two.state);
  });

  it("is stopped with the step, not by an observation, when the step is cancelled", async () => {
    const current = await task();
    const { state } = await start(current);
    const controller = new AbortController();
    const ctx = context({ task: current, interpreter, signal: controller.signal });
    const stepping = env.step(ctx, state as never, { tool: "Spoil", arguments: { how: "loop" } });
    setTimeout(() => controller.abort(new Error("cancelled by the test")), 50);
    await expect(stepping).rejects.toThrow("cancelled by the test");
  });

  it("that does not start is the task's fault, named with its id", async () => {
    const broken = await task({}, `${program.source}\n)`);
    await expect(start(broken)).rejects.toThrow(/task "(lamps|parcels)\/0": its program raised SyntaxError/);
    const line = program.source.split("\n").length + 1;
    expect(await check(broken)).toEqual([
      expect.stringMatching(
        new RegExp(`^its program raised SyntaxError: [^\\[(]*\\(programs/\\w+\\.(js|py):${line}\\)$`),
      ),
    ]);
  });
});

describe("a program in JavaScript", () => {
  it("shows results that are no text as JSON, and errors that it reports as errors", async () => {
    const player = await start(await lampsTask());
    await player.step({ tool: "Spoil", arguments: { how: "", twice: true } });
    expect(seen(player)).toEqual({ content: expect.stringMatching(/^\{"random":0\.\d+\}$/) as string, isError: false });
    await player.step({ tool: "Read", arguments: { at: 9 } });
    expect(seen(player)).toEqual({ content: "Error: beyond the end", isError: true });
  });

  it("that throws, or keeps what cannot be kept, is an observation with the state as before", async () => {
    const player = await start(await lampsTask());
    await player.step({ tool: "Spoil", arguments: { how: "throw" } });
    expect(seen(player)).toEqual(
      says(/^Spoil failed: the tool raised RangeError: out of throw\. Nothing has changed\.$/),
    );
    await player.step({ tool: "Spoil", arguments: { how: "function" } });
    expect(seen(player)).toEqual(says(/^Spoil failed: the tool has a state or result that cannot be kept/));
    await player.step({ tool: "Observe" });
    expect(seen(player).content).toBe("reads: 0");
  });

  it("judges by its own accepts, and says nothing of what that throws", async () => {
    const accepts = `program.accepts = (state, { on }) => { if (on < 0) throw new Error("LEAK 2"); return on === 2 };`;
    const task = await lampsTask({}, `${lamps}\n${accepts}`);
    const player = await start(task);
    expect(await player.step({ tool: "Done", arguments: { answer: { on: -1 } } })).toMatchObject({ terminated: false });
    expect(seen(player)).toEqual(says(/^Done failed: the answer could not be judged\. Nothing has changed\.$/));
    expect(await player.step({ tool: "Done", arguments: { answer: { on: 2 } } })).toMatchObject({ reward: 1 });
  });

  it("is found out by the check when anything wins, its solution loses, or it has few tools", async () => {
    const anything = await lampsTask({}, `${lamps}\nprogram.accepts = () => true;`);
    expect(await check(anything)).toEqual(["no wrong answer could be found that ends the episode with reward 0"]);
    const loses = await lampsTask({}, `${lamps}\nprogram.accepts = () => false;`);
    expect(await check(loses)).toContain("its own solution returns 0, not 1");
    const few = await lampsTask(
      {},
      `${lamps}\ndelete program.tools.Spoil; delete program.tools.Read; program.solve = (call) => call("Done", { answer: { of: 3, on: 2 } });`,
    );
    expect(await check(few)).toEqual(["it has 3 tools, Observe and Done included, fewer than 4"]);
  });

  it("is found out by the check when the answer is seen before anything is done", async () => {
    const told = await lampsTask({}, `${lamps}\nprogram.observe = () => 'on and of: {"of": 3, "on": 2}';`);
    expect(await check(told)).toEqual(["the first Observe shows the reference answer"]);
    const choice = await lampsTask({ question: 'Is it {"of":3,"on":2}?' }, await told.program.source());
    expect(await check(choice)).toEqual([]);
  });

  it("that throws while it starts is one sentence of the check, with its file and innermost line", async () => {
    const source = "const program = {\n  tools: {},\n  init: (payload) =>\n    payload.none.at,\n};";
    expect(await check(await lampsTask({}, source))).toEqual([
      "its program raised TypeError: Cannot read properties of undefined (reading 'at') (programs/lamps.js:4)",
    ]);
  });

  it("may not define Observe or Done", async () => {
    const task = await lampsTask({}, `${lamps}\nprogram.tools.Done = program.tools.Read;`);
    await expect(start(task)).rejects.toThrow("must not define it");
  });
});

describe("a program in the released format", () => {
  beforeAll(() => warm("python"), 120_000);

  it("runs with a payload that is a Python literal", async () => {
    const literal = `{"weights": (1, 2.0, 1152921504606846977), "note": {1: None}}`;
    const player = await start(await parcelsTask({ payload: undefined, literal }));
    await player.step({ tool: "WeighParcel", arguments: { index: 1 } });
    expect(seen(player).content).toBe("2.0");
    await player.step({ tool: "WeighParcel", arguments: { index: 2 } });
    expect(seen(player).content).toBe("1152921504606846977");
  });

  it("that raises while it starts is one sentence of the check, with its file and innermost line", async () => {
    const source = parcels.replace("return ParcelPairEnv(env_str=s)", "return 1 / 0");
    const line = source.slice(0, source.indexOf("1 / 0")).split("\n").length;
    expect(await check(await parcelsTask({}, source))).toEqual([
      `its program raised ZeroDivisionError: division by zero (programs/parcels.py:${line})`,
    ]);
  });

  it("gets integers beyond 2^53 from a model's text as they are", async () => {
    const source = parcels
      .replace('return f"sender', 'return f"{how}" if how else f"sender')
      .replace("def Observe(self)", "def Observe(self, how=None)")
      .replace("self.Observe()", 'self.Observe(params.get("how"))');
    const player = await start(await parcelsTask({}, source));
    await player.step('{"name":"Observe","parameters":{"how":1152921504606846977}}');
    expect(seen(player).content).toBe("1152921504606846977");
  });

  it("reads parameters from annotations and docstrings", async () => {
    const player = await start(await parcelsTask());
    expect(player.tools[2]).toEqual({
      name: "HeavierOf",
      description: "Compares two parcels.\nReturns: str: Position of the heavier one.",
      inputSchema: {
        type: "object",
        properties: {
          pair: { type: "array", items: { type: "integer" }, description: "Two positions." },
          unit: { type: ["string", "null"], description: "Unit of the reply." },
        },
        required: ["pair"],
        additionalProperties: false,
      },
    });
  });

  it("passes on the errors that it reports, but nothing that Done says", async () => {
    const player = await start(await parcelsTask());
    await player.step({ tool: "WeighParcel", arguments: { index: 10 } });
    expect(seen(player)).toEqual({ content: "Error: list index out of range", isError: true });
    expect(await player.step({ tool: "Done", arguments: { answer: 3 } })).toMatchObject({
      terminated: false,
      reward: 0,
    });
    expect(seen(player)).toEqual({ content: "Done failed: the answer could not be judged.", isError: true });
  });

  it("that keeps a generator, or exits, is an observation with the state as before", async () => {
    const player = await start(await parcelsTask());
    await player.step({ tool: "Spoil", arguments: { how: "generator" } });
    expect(seen(player)).toEqual(says(/cannot be kept/));
    await player.step({ tool: "Spoil", arguments: { how: "exit" } });
    expect(seen(player)).toEqual(says(/raised SystemExit/));
    await player.step({ tool: "CountParcels" });
    expect(seen(player).content).toBe("3");
  });

  it("names the class that it does not have", async () => {
    await expect(start(await parcelsTask({ class: "OtherEnv" }))).rejects.toThrow(
      /one environment class OtherEnv, found 0/,
    );
  });
});

describe("infrastructure", () => {
  it("that fails is an error, never an observation", async () => {
    const task = await lampsTask();
    const { state } = await start(task);
    const lost: Interpreter = { language: "javascript", call: () => Promise.reject(new SandboxLost("gone")) };
    const ctx = context({ task, interpreter: () => lost });
    await expect(env.step(ctx, state as never, { tool: "Length" })).rejects.toThrow(SandboxLost);
  });

  it("without a task is told so", async () => {
    await expect(play(env, { interpreter })).rejects.toThrow("no task: serve a dataset with --tasks DIR");
  });
});
