/** What must every interpreter do, whatever its language? Called with one program that has the entries named below. */

import { readFileSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { InterpreterCall, InterpreterOutcome, Language } from "trailgym/env";
import { createInterpreters, type Interpreters } from "../../server/sandboxes/interpreters.ts";

export interface ContractProgram {
  language: Language;
  /**
   * Texts that define, the second using the first:
   * `count(state, by)` → [n, {n}] · `countThenFail(state, by)` mutates, then throws a `ValueError`/`RangeError` "on purpose" ·
   * `hidden(state, place)` → [how often it was called, state], counted in a "global", a "class", a "closure" or an "attribute" · `twice(state)` puts one list in two places, and adds to it in one of them if there is a state → the length
   * of the other · `say(state, text)` prints · `loop(state)` never ends · `eat(state)` allocates for ever · `chatter(state)`
   * prints for ever · `big(state, n)` → [a string of n, null] · `grow(state, n)` → [null, a string of n] · `echo(state, x)` →
   * [x, state] · `single(state)` → no pair · `func(state)` → [null, something with a function in it at key `f`] ·
   * `chance(state)` → everything that could differ from call to call · `work(state)` → [n, state] after some 100 ms
   */
  texts: readonly string[];
  brokenText: string;
  /** Type of the error that `countThenFail` throws. */
  errorType: string;
}

const signal = new AbortController().signal;

export function interpreterContract({ language, texts, brokenText, errorType }: ContractProgram): void {
  describe(`the ${language} interpreter`, () => {
    let interpreters: Interpreters;
    beforeAll(() => (interpreters = createInterpreters({ instance: "contract-test" })));
    afterAll(() => interpreters[Symbol.asyncDispose]());

    const run = (
      entry: string,
      args: unknown[] = [],
      state?: Uint8Array,
      more: Partial<InterpreterCall> = {},
      stop: AbortSignal = signal,
    ): Promise<InterpreterOutcome> =>
      interpreters
        .interpreter(language)
        .call({ program: texts, entry, args, ...(state && { state }), limits: { timeMs: 10_000 }, ...more }, stop);

    it("starts nothing before the first call", async () => {
      expect(interpreters.pids(language)).toEqual([]);
      await ok(run("count", [1]));
      expect(interpreters.pids(language)).not.toEqual([]);
    }, 60_000);

    it("hands each call the state of an earlier one, and none to the first", async () => {
      const first = await ok(run("count", [2]));
      const second = await ok(run("count", [3], first.state));
      expect([first.value, second.value]).toEqual([2, 5]);
    });

    it("gives the same outcome for the same state, whatever happened since", async () => {
      const first = await ok(run("count", [2]));
      const later = await ok(run("count", [3], (await ok(run("count", [3], first.state))).state));
      const again = await ok(run("count", [3], first.state));
      expect(later.value).toBe(8);
      expect(again.value).toBe(5);
      expect(again.state).toEqual((await ok(run("count", [3], first.state))).state);
    });

    it("shows nothing of a call that failed", async () => {
      const { state } = await ok(run("count", [2]));
      const failed = await run("countThenFail", [100], state);
      expect(failed).toMatchObject({ status: "raised", error: { type: errorType, message: "on purpose" } });
      expect((await ok(run("count", [1], state))).value).toBe(3);
    });

    it.each(["global", "class", "closure", "attribute"])(
      "forgets between calls what a call kept in a %s",
      async (place) => {
        const { state } = await ok(run("count", [1]));
        for (let i = 0; i < 3; i++) expect((await ok(run("hidden", [place], state))).value).toBe(1);
      },
    );

    it("keeps an object that is in two places of the state in one piece", async () => {
      const { state } = await ok(run("twice"));
      const { value, state: next } = await ok(run("twice", [], state));
      expect(value).toBe(1);
      expect((await ok(run("twice", [], next))).value).toBe(2);
    });

    it("keeps sessions apart that take turns", async () => {
      let [a, b] = [await ok(run("count", [1])), await ok(run("count", [100]))];
      for (let i = 0; i < 5; i++) {
        [a, b] = [await ok(run("count", [1], a.state)), await ok(run("count", [100], b.state))];
      }
      expect([a.value, b.value]).toEqual([6, 600]);
    });

    it("passes JSON through unchanged", async () => {
      const value = { text: 'ü€😀"\\\n\u0000', list: [1, -2.5, 1e21, true, null, []], __proto__x: {}, "": 0 };
      expect((await ok(run("echo", [value]))).value).toEqual(value);
    });

    it("keeps what a program prints with the outcome of that call only", async () => {
      expect((await ok(run("say", ["héllo"]))).output).toBe("héllo\n");
      expect((await ok(run("count", [1]))).output).toBe("");
    });

    it("has no clock and no chance", async () => {
      const [first, second] = [await run("chance"), await run("chance")];
      expect(second).toEqual(first);
    });

    it("names the lines of the program in a trace, and no path of the host", async () => {
      const failed = await run("countThenFail", [1]);
      expect(failed).toMatchObject({ error: { trace: expect.stringMatching(/program-2\.\w+/) as unknown } });
      expect(JSON.stringify(failed)).not.toMatch(/node_modules|\/work|sandboxes|trailgym/);
    });

    it("says what is wrong with a program that does not compile, and goes on with others", async () => {
      for (let i = 0; i < 2; i++) {
        expect(await run("count", [1], undefined, { program: [brokenText] })).toMatchObject({
          status: "raised",
          error: { type: "SyntaxError" },
        });
      }
      expect((await ok(run("count", [1]))).value).toBe(1);
    });

    it("says so when the entry is missing, or does not return a pair", async () => {
      expect(await run("missing")).toMatchObject({ status: "raised", error: { message: /missing is not a function/ } });
      expect(await run("a b")).toMatchObject({ status: "raised" });
      expect(await run("single")).toMatchObject({ status: "raised", error: { message: /must return/ } });
    });

    it("names what it cannot encode", async () => {
      expect(await run("func")).toMatchObject({ status: "unencodable" });
    });

    it.each([
      ["timeout", "loop", [], { timeMs: 200 }],
      ["outOfMemory", "eat", [], { memoryMb: 32 }],
      ["outputTooLarge", "chatter", [], { outputBytes: 10_000, memoryMb: 64 }],
      ["outputTooLarge", "big", [20_000], { outputBytes: 10_000 }],
      ["stateTooLarge", "grow", [20_000], { stateBytes: 10_000 }],
    ] as const)("answers %s to %s, and leaves the state as it was", async (status, entry, args, limits) => {
      const { state } = await ok(run("count", [2]));
      const outcome = await run(entry, [...args], state, { limits: { timeMs: 10_000, ...limits } });
      // A program that prints for ever may meet another limit first.
      if (entry === "chatter") expect(["outputTooLarge", "outOfMemory", "timeout"]).toContain(outcome.status);
      else expect(outcome).toEqual({ status });
      expect((await ok(run("count", [1], state))).value).toBe(3);
    });

    it("ends an ordinary endless loop without losing the process", async () => {
      await ok(run("count", [1]));
      const before = interpreters.pids(language);
      expect(await run("loop", [], undefined, { limits: { timeMs: 100 } })).toEqual({ status: "timeout" });
      expect(interpreters.pids(language)).toEqual(expect.arrayContaining(before));
    });

    it("keeps within the limits: what is just small enough passes", async () => {
      expect((await ok(run("big", [9_000], undefined, { limits: { outputBytes: 10_000 } }))).status).toBe("ok");
      expect((await ok(run("grow", [9_000], undefined, { limits: { stateBytes: 10_000 } }))).status).toBe("ok");
    });

    it("kills a call that is aborted, and drops one that waits", async () => {
      await Promise.all([ok(run("work")), ok(run("work"))]);
      const stop = new AbortController();
      const outcomes = [1, 2, 3, 4].map(() => run("loop", [], undefined, {}, stop.signal));
      setTimeout(() => stop.abort(), 100);
      const start = performance.now();
      expect(await Promise.all(outcomes)).toEqual([1, 2, 3, 4].map(() => ({ status: "timeout" })));
      expect(performance.now() - start).toBeLessThan(2_000);
      expect(await run("count", [1], undefined, {}, AbortSignal.abort())).toEqual({ status: "timeout" });
      expect((await ok(run("count", [1]))).value).toBe(1);
    }, 60_000);

    it("counts a call's time from its start, not from when it began to wait", async () => {
      const calls = Array.from({ length: 12 }, () => run("work", [], undefined, { limits: { timeMs: 900 } }));
      expect((await Promise.all(calls)).map(({ status }) => status)).toEqual(calls.map(() => "ok"));
    });

    it("runs a call again whose process was taken away, and answers those that wait", async () => {
      await ok(run("work"));
      const calls = Array.from({ length: 6 }, () => run("work"));
      await new Promise((resolve) => setTimeout(resolve, 20));
      process.kill(interpreters.pids(language)[0]!, "SIGKILL");
      expect((await Promise.all(calls)).map(({ status }) => status)).toEqual(calls.map(() => "ok"));
    }, 60_000);

    it("names the server in the command line of its processes", () => {
      const lines = interpreters.pids(language).map((pid) => readFileSync(`/proc/${pid}/cmdline`, "utf8"));
      expect(lines.length).toBeGreaterThan(0);
      for (const line of lines) expect(line).toContain("--trailgym-instance=contract-test");
    });

    it("leaves no process when it is disposed, whatever runs", async () => {
      const looping = run("loop").catch((error: Error) => error.name);
      const pids = interpreters.pids(language);
      await interpreters[Symbol.asyncDispose]();
      expect(await looping).toBe("SandboxLost");
      expect(pids.filter(isAlive)).toEqual([]);
      await expect(run("count", [1])).rejects.toMatchObject({ name: "SandboxLost" });
    });
  });
}

export async function ok(outcome: Promise<InterpreterOutcome>): Promise<InterpreterOutcome & { status: "ok" }> {
  const settled = await outcome;
  expect(settled).toMatchObject({ status: "ok" });
  return settled as InterpreterOutcome & { status: "ok" };
}

export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
