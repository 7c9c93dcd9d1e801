/** Environments for tests: one that does every wrong thing on request, and plain ones with chance, tasks, limits, values. */

import { defineEnv, taskList, type AnyEnv } from "trailgym/env";
import { z } from "zod";
import countdown from "../../envs/countdown/countdown.env.ts";
import { type Gate, gate, until } from "./events.ts";

export { countdown };

const misdeeds = z.discriminatedUnion("do", [
  /** Adds to the count. */
  z.strictObject({ do: z.literal("add"), n: z.int().default(1) }),
  /** Adds 1 when released; gives up when its signal is aborted. */
  z.strictObject({ do: z.literal("wait") }),
  /** Adds 1 when released, however long its deadline is over. */
  z.strictObject({ do: z.literal("hang") }),
  /** Occupies the thread. */
  z.strictObject({ do: z.literal("spin"), ms: z.int() }),
  z.strictObject({ do: z.literal("throw"), message: z.string().default("broken") }),
  /** Returns this instead of an outcome. */
  z.strictObject({ do: z.literal("return"), outcome: z.unknown() }),
  /** Adds 1 with this as the reward. */
  z.strictObject({ do: z.literal("reward"), reward: z.unknown() }),
  /** Writes to the state it was lent, not to a copy. */
  z.strictObject({ do: z.literal("mutate") }),
  /** Writes to the bytes of the state it was lent, which cannot be frozen, and then throws. */
  z.strictObject({ do: z.literal("scribble") }),
  /** Adds 1 and reports each of these fractions at once. */
  z.strictObject({ do: z.literal("report"), fractions: z.array(z.unknown()) }),
  /** Adds 1 and shows a text of this length. */
  z.strictObject({ do: z.literal("swell"), length: z.int() }),
  z.strictObject({ do: z.literal("end") }),
]);

export interface Trouble {
  env: AnyEnv;
  /** Steps that the environment was asked to run. */
  readonly runs: number;
  /** Steps that wait or hang now. */
  readonly held: number;
  /** Signals of the trials that asked for theirs, oldest first. */
  readonly signals: AbortSignal[];
  /** Resolves once `count` steps wait or hang. */
  entered(count?: number): Promise<void>;
  /** Lets every step that waits or hangs go on. */
  release(): void;
  /** Makes every step that waits or hangs throw. */
  fail(): void;
}

/** An environment that misbehaves as its action says; each test has its own, to hold its steps back. */
export function trouble(): Trouble {
  let runs = 0;
  const gates = new Set<Gate>();
  const signals: AbortSignal[] = [];

  async function held(signal?: AbortSignal): Promise<void> {
    const mine = gate();
    gates.add(mine);
    if (signal !== undefined) signals.push(signal);
    signal?.addEventListener("abort", () => mine.fail(signal.reason as Error), { once: true });
    await mine.opened.finally(() => gates.delete(mine));
  }

  const env = defineEnv({
    id: "trouble-v1",
    summary: "Does every wrong thing on request.",
    state: z.object({ count: z.int(), bytes: z.instanceof(Uint8Array) }),
    action: misdeeds,
    observation: z.object({ count: z.int(), text: z.string().optional() }),
    options: z.object({ from: z.int().default(0), fail: z.boolean().default(false) }),

    reset(_ctx, { from, fail }) {
      if (fail) throw new Error("reset was asked to fail");
      return { state: { count: from, bytes: Uint8Array.of(1, 2, 3) }, observation: { count: from } };
    },

    step(ctx, state, action) {
      runs++;
      const plus = (n: number, more: object = {}) => {
        const count = state.count + n;
        return { state: { count, bytes: state.bytes }, observation: { count }, reward: n, ...more };
      };
      switch (action.do) {
        case "add":
          return plus(action.n);
        case "wait":
          return held(ctx.signal).then(() => plus(1));
        case "hang":
          return held().then(() => plus(1));
        case "spin":
          spin(action.ms);
          return plus(1);
        case "throw":
          throw new Error(action.message);
        case "return":
          return action.outcome as ReturnType<typeof plus>;
        case "reward":
          return plus(1, { reward: action.reward });
        case "mutate":
          (state as { count: number }).count = 99;
          return plus(1);
        case "scribble":
          state.bytes.fill(0xff);
          throw new Error("scribbled");
        case "report":
          for (const fraction of action.fractions) ctx.progress(fraction as number, "working");
          return plus(1);
        case "swell":
          return plus(1, { observation: { count: state.count + 1, text: "x".repeat(action.length) } });
        case "end":
          return plus(0, { terminated: true });
      }
    },
  });
  return {
    env,
    get runs() {
      return runs;
    },
    get held() {
      return gates.size;
    },
    signals,
    entered: (count = 1) => until(() => gates.size >= count),
    release: () => gates.forEach((each) => each.open()),
    fail: () => gates.forEach((each) => each.fail(new Error("failed late"))),
  };
}

function spin(ms: number): void {
  const end = performance.now() + ms;
  while (performance.now() < end);
}

/** Rolls dice until their sum reaches the goal: chance in reset, in step, and in the episode's length. */
export const dice = defineEnv({
  id: "dice-v1",
  summary: "Roll until the sum reaches the goal.",
  state: z.object({ sum: z.int(), goal: z.int() }),
  action: z.object({ dice: z.int().min(1).max(3) }),
  observation: z.object({ sum: z.int(), rolled: z.array(z.int()), noise: z.number() }),
  options: z.object({ sides: z.int().min(2).default(6) }),

  reset: ({ rng }) => ({
    state: { sum: 0, goal: rng.int(10, 20) },
    observation: { sum: 0, rolled: [], noise: rng.normal() },
    info: { hint: rng.float() },
  }),

  step({ rng }, { sum, goal }, { dice }) {
    const rolled = Array.from({ length: dice }, () => rng.int(1, 6));
    const after = sum + rolled.reduce((a, b) => a + b, 0);
    return {
      state: { sum: after, goal },
      observation: { sum: after, rolled, noise: rng.normal() },
      reward: rolled.length / 10,
      terminated: after >= goal,
    };
  },
});

/** Truncated after 3 steps, unless it was stopped before or with the last. */
export const corridor = defineEnv({
  id: "corridor-v1",
  summary: "Walk three steps, or stop.",
  state: z.object({ at: z.int() }),
  action: z.object({ stop: z.boolean() }),
  observation: z.object({ at: z.int() }),
  options: z.object({}),
  maxEpisodeSteps: 3,
  reset: () => ({ state: { at: 0 }, observation: { at: 0 }, info: { fresh: true } }),
  step: (_ctx, { at }, { stop }) => ({
    state: { at: at + 1 },
    observation: { at: at + 1 },
    reward: 1,
    terminated: stop,
    info: { stopped: stop },
  }),
});

interface Question {
  id: string;
  question: string;
  answer: string;
}

function questions(prefix: string, count: number): Question[] {
  return Array.from({ length: count }, (_, i) => ({ id: `${prefix}${i}`, question: `${prefix}?${i}`, answer: `${i}` }));
}

/** Tasks in two splits; the tools depend on the task. */
export const quiz = defineEnv({
  id: "quiz-v1",
  summary: "Answer the question.",
  state: z.object({ answer: z.string() }),
  action: z.object({ answer: z.string() }),
  observation: z.object({ question: z.string() }),
  options: z.object({}),
  tasks: () =>
    taskList({ train: questions("train-", 50), test: questions("test-", 5) }, ({ id, question }) => ({ id, question })),
  reset: ({ task }) => ({
    state: { answer: task.answer },
    observation: { question: task.question },
    tools: [{ name: `answer_${task.id}`, description: "Answers.", inputSchema: { type: "object" } }],
  }),
  step: ({ task }, state, { answer }) => ({
    state,
    observation: { question: task.question },
    reward: answer === state.answer ? 1 : 0,
    terminated: true,
  }),
});

/** State, observation and info are whatever the last action was. */
export const echo = defineEnv({
  id: "echo-v1",
  summary: "Says what it was told.",
  state: z.object({ value: z.unknown() }),
  action: z.object({ value: z.unknown() }),
  observation: z.object({ value: z.unknown() }),
  options: z.object({ value: z.unknown().default(null) }),
  reset: (_ctx, { value }) => ({ state: { value }, observation: { value } }),
  step: (_ctx, _state, { value }) => ({ state: { value }, observation: { value }, info: { value } }),
});
