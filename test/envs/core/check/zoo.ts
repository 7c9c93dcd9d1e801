/** Environments with one fault each, and the rule that is to find it. */

import { type AnyEnv, type EnvContext, type Rule, taskList, type TaskPage, type TaskSource } from "trailgym/env";
import { z } from "zod";
import { broken, sound, take } from "./base.ts";

type State = { left: number };
type Ctx = EnvContext;

const tasks = Array.from({ length: 6 }, (_, i) => ({
  id: `t${i}`,
  question: `question ${i}`,
  key: `the right answer no. ${i}`,
}));
const source = taskList({ train: tasks.slice(0, 4), test: tasks.slice(4) }, ({ id, question }) => ({ id, question }));

function withTasks(change: Partial<TaskSource>): AnyEnv {
  return broken({ tasks: () => ({ ...source, ...change }) });
}

const deep = Array.from({ length: 70 }).reduce<unknown>((inner) => [inner], 1);

/** Kept between calls, which environments must not do. */
const kept = { calls: 0, steps: 0 };
const remembered = new WeakMap<object, number>();

export interface Animal {
  fault: string;
  env: AnyEnv;
  rule: Rule;
  severity?: "error" | "warning";
  /** Part of the message. */
  says: RegExp;
  /** Step at which it is found, where it has one. */
  step?: number;
}

export const zoo: Animal[] = [
  { fault: "an id without a version", env: broken({ id: "sound" }), rule: "definition", says: /family-vN/ },
  { fault: "no summary", env: broken({ summary: " " }), rule: "definition", says: /summary/ },
  { fault: "no steps at all", env: broken({ maxEpisodeSteps: 0 }), rule: "definition", says: /maxEpisodeSteps is 0/ },
  {
    fault: "a need that no server has",
    env: broken({ needs: ["interpreter:cobol" as never] }),
    rule: "definition",
    says: /cobol/,
  },
  {
    fault: "no step function",
    env: broken({ step: undefined as never }),
    rule: "definition",
    says: /no step function/,
  },
  {
    fault: "a state that is no schema",
    env: broken({ state: {} as never }),
    rule: "definition",
    says: /state is not a zod schema/,
  },
  {
    fault: "an action that JSON Schema has no word for",
    env: broken({ action: z.object({ take: z.literal(1), at: z.custom<number>().optional() }) }),
    rule: "json-schema",
    severity: "warning",
    says: /clients are not told all of the action schema/,
  },
  {
    fault: "an option without a default",
    env: broken({ options: z.object({ most: z.int() }) }),
    rule: "options-defaults",
    says: /most/,
  },
  {
    fault: "a default that cannot cross the wire",
    env: broken({ options: z.object({ most: z.int().default(4), deep: z.unknown().default(deep) }) }),
    rule: "options-defaults",
    says: /nested deeper/,
  },
  {
    fault: "two tools of one name",
    env: broken({
      tools: ["look", "look"].map((name) => ({ name, description: "Looks.", inputSchema: { type: "object" } })),
      action: z.unknown() as never,
    }),
    rule: "tools",
    says: /two tools are named "look"/,
  },
  {
    fault: "a reset that shows a tool without named arguments",
    env: broken({
      action: z.unknown() as never,
      reset: (ctx: Ctx, options: { most: number }) =>
        ({
          ...(sound.reset(ctx, options) as object),
          tools: [{ name: "look", description: "Looks.", inputSchema: { type: "string" } }],
        }) as never,
    }),
    rule: "tools",
    says: /not of type object/,
    step: 0,
  },
  {
    fault: "tasks that cannot be read",
    env: broken({
      tasks: () => {
        throw new Error("no such dataset");
      },
    }),
    rule: "tasks",
    says: /no such dataset/,
  },
  {
    fault: "an empty split",
    env: broken({ tasks: () => taskList({ train: tasks, test: [] }) }),
    rule: "tasks",
    says: /"test" is empty/,
  },
  { fault: "no splits", env: broken({ tasks: () => taskList({}) }), rule: "tasks", says: /no splits/ },
  {
    fault: "a task that its own check finds wrong",
    env: broken({ checkTask: () => Promise.resolve(["the hidden test fails"]) }),
    rule: "tasks",
    says: /hidden test fails/,
  },
  {
    fault: "a listed task that get does not know",
    env: withTasks({ get: (id) => (id === "t2" ? undefined : source.get(id)) }),
    rule: "task-pages",
    says: /get does not know/,
  },
  {
    fault: "a pick beyond the last",
    env: withTasks({ pick: (split, i) => source.pick(split, i % source.size(split)) }),
    rule: "task-pages",
    says: /beyond the last/,
  },
  {
    fault: "a wrong size",
    env: withTasks({ size: (split) => Math.max(0, source.size(split) - 1) }),
    rule: "task-pages",
    says: /size says/,
  },
  {
    fault: "pages that do not end",
    env: withTasks({
      list: (split, cursor, limit): TaskPage =>
        split === undefined ? { tasks: [], total: 6, nextCursor: "0" } : source.list(split, cursor, limit),
    }),
    rule: "task-pages",
    says: /do not end/,
  },
  {
    fault: "a task shown twice",
    env: withTasks({
      list: (split, cursor, limit): TaskPage =>
        split === undefined
          ? { tasks: [...tasks, ...tasks].map(({ id }) => ({ id })), total: 12 }
          : source.list(split, cursor, limit),
    }),
    rule: "task-pages",
    says: /twice/,
  },
  {
    fault: "an unknown split with tasks in it",
    env: withTasks({ size: (split) => source.size(split) || 3 }),
    rule: "task-pages",
    says: /unknown split/,
  },
  {
    fault: "a public answer",
    env: broken({ tasks: () => taskList({ all: tasks }, ({ id, key }) => ({ id, correctAnswer: key.slice(0, 3) })) }),
    rule: "task-secret",
    severity: "warning",
    says: /"correctAnswer"/,
  },
  {
    fault: "an answer inside a public text",
    env: broken({ tasks: () => taskList({ all: tasks }, ({ id, key }) => ({ id, hint: `Say "${key}".` })) }),
    rule: "task-secret",
    severity: "warning",
    says: /repeat a text of "key"/,
  },
  {
    fault: "a reset that throws",
    env: broken({
      reset: () => {
        throw new Error("boom");
      },
    }),
    rule: "throws",
    says: /reset throws "boom"/,
    step: 0,
  },
  {
    fault: "a step that rejects",
    env: broken({ step: () => Promise.reject(new Error("boom")) }),
    rule: "throws",
    says: /step throws "boom": a policy's mistake/,
    step: 1,
  },
  {
    fault: "a step that waits for ever",
    env: broken({ step: () => new Promise(() => undefined) }),
    rule: "timeout",
    says: /not done after/,
    step: 1,
  },
  {
    fault: "a reset that returns nothing",
    env: broken({ reset: () => undefined as never }),
    rule: "outcome",
    says: /object with state and observation/,
    step: 0,
  },
  {
    fault: "an end that is no boolean",
    env: broken({ step: (_: Ctx, s: State) => ({ ...take(s), terminated: "no" as never }) }),
    rule: "outcome",
    says: /terminated/,
    step: 1,
  },
  {
    fault: "a state outside its schema",
    env: broken({ state: z.object({ left: z.int().min(1) }) }),
    rule: "state-schema",
    says: /left/,
  },
  {
    fault: "a state with a key that its schema drops",
    env: broken({ step: (_: Ctx, s: State) => ({ ...take(s), state: { left: s.left - 1, more: 1 } }) }),
    rule: "state-schema",
    says: /drops a key/,
    step: 1,
  },
  {
    fault: "an observation outside its schema",
    env: broken({ observation: z.object({ left: z.string() }) }),
    rule: "observation-schema",
    says: /left/,
    step: 0,
  },
  {
    fault: "a reference outside the action schema",
    env: broken({ reference: () => [{ take: 2 }] }),
    rule: "action-schema",
    says: /take/,
    step: 1,
  },
  {
    fault: "a reward of NaN",
    env: broken({ step: (_: Ctx, s: State) => ({ ...take(s), reward: NaN }) }),
    rule: "reward",
    says: /NaN/,
    step: 1,
  },
  {
    fault: "a reward of Infinity at the end",
    env: broken({ step: (_: Ctx, s: State) => ({ ...take(s), reward: s.left === 1 ? Infinity : 0 }) }),
    rule: "reward",
    says: /Infinity/,
  },
  {
    fault: "a state with a Map",
    env: broken({
      state: z.object({ left: z.int(), seen: z.custom<Map<string, string>>().optional() }),
      step: (_: Ctx, s: State) => ({ ...take(s), state: { left: s.left - 1, seen: new Map() } }),
    }),
    rule: "codec",
    says: /a Map cannot cross/,
    step: 1,
  },
  {
    fault: "an info with a function",
    env: broken({ step: (_: Ctx, s: State) => ({ ...take(s), info: { why: () => 1 } }) }),
    rule: "codec",
    says: /info\.why|function/,
    step: 1,
  },
  {
    fault: "a state that means something by its identity",
    env: broken({
      state: z.custom<State>(),
      reset: (ctx: Ctx, options: { most: number }) => {
        const outcome = sound.reset(ctx, options) as { state: State };
        remembered.set(outcome.state, 1);
        return outcome as never;
      },
      step: (_: Ctx, s: State) => {
        const outcome = take(s);
        remembered.set(outcome.state, 1);
        return { ...outcome, info: { known: remembered.has(s) } };
      },
    }),
    rule: "state-identity",
    says: /restored state/,
    step: 1,
  },
  {
    fault: "a state that tells undefined from absent",
    env: broken({
      state: z.object({ left: z.int(), mark: z.int().optional() }),
      reset: (ctx: Ctx, options: { most: number }) => {
        const { state, observation } = sound.reset(ctx, options) as { state: State; observation: State };
        return { state: { ...state, mark: undefined }, observation };
      },
      step: (_: Ctx, s: State) => ({ ...take(s), info: { marked: "mark" in s } }),
    }),
    rule: "state-identity",
    says: /restored state/,
    step: 1,
  },
  {
    fault: "steps counted outside the state",
    env: broken({
      reset: (ctx: Ctx, options: { most: number }) => {
        kept.steps = 0;
        return sound.reset(ctx, options) as never;
      },
      step: (_: Ctx, s: State) => ({ ...take(s), info: { steps: ++kept.steps } }),
    }),
    rule: "keeps-state",
    says: /depends on the calls before it/,
  },
  {
    fault: "a step that writes to its state",
    env: broken({
      step: (_: Ctx, s: State) => {
        s.left--;
        return { state: s, observation: { left: s.left } };
      },
    }),
    rule: "mutates-input",
    says: /step changes its inputs/,
    step: 1,
  },
  {
    fault: "a reset that writes to its options",
    env: broken({
      reset: (_: Ctx, options: { most: number }) => {
        options.most = 2;
        return { state: { left: 2 }, observation: { left: 2 } };
      },
    }),
    rule: "mutates-input",
    says: /reset changes its inputs/,
    step: 0,
  },
  {
    fault: "a step that writes into its state's bytes",
    env: broken({
      state: z.object({ bytes: z.instanceof(Uint8Array) }),
      reset: () => ({ state: { bytes: new Uint8Array([3]) }, observation: { left: 3 } }),
      reference: () => [{ take: 1 }],
      step: (_: Ctx, { bytes }: { bytes: Uint8Array }) => {
        bytes[0]!--;
        return { state: { bytes: bytes.slice() }, observation: { left: 0 }, terminated: true, reward: 1 };
      },
    }),
    rule: "mutates-input",
    says: /step changes its state/,
    step: 1,
  },
  {
    fault: "a step that writes to its task",
    env: broken({
      tasks: () => taskList({ all: [{ id: "a", used: 0 }] }),
      step: (ctx: Ctx, s: State) => {
        (ctx.task as { used: number }).used++;
        return take(s);
      },
    }),
    rule: "mutates-input",
    says: /step changes its task/,
    step: 1,
  },
  {
    fault: "a reference that writes to the state",
    env: broken({
      reference: (_: Ctx, s: State) => {
        const actions = [];
        while (s.left-- > 0) actions.push({ take: 1 });
        return actions;
      },
    }),
    rule: "mutates-input",
    says: /reference changes/,
    step: 0,
  },
  ...Object.entries<() => unknown>({
    "Math.random": () => Math.random(),
    "Date.now": () => Date.now(),
    "new Date()": () => new Date(),
    "Date()": () => Date(),
    "performance.now": () => performance.now(),
    "crypto.randomUUID": () => crypto.randomUUID(),
    "crypto.getRandomValues": () => crypto.getRandomValues(new Uint8Array(1)),
  }).map(([name, draw]): Animal => ({
    fault: `a step that calls ${name}`,
    env: broken({
      step: async (_: Ctx, s: State) => {
        await Promise.resolve();
        void draw();
        return take(s);
      },
    }),
    rule: "chance",
    says: new RegExp(`step uses ${name.replace(/[().]/g, "\\$&")}`),
    step: 1,
  })),
  {
    fault: "calls counted over all episodes",
    env: broken({ step: (_: Ctx, s: State) => ({ ...take(s), info: { calls: ++kept.calls } }) }),
    rule: "replay",
    says: /another episode/,
    step: 1,
  },
  {
    fault: "a generator drawn once and kept",
    env: (() => {
      const draws = Array.from({ length: 200 }, (_, i) => 2 + ((i * 7) % 3));
      return broken({
        reset: () => {
          const left = draws.pop() ?? 2;
          return { state: { left }, observation: { left } };
        },
      });
    })(),
    rule: "replay",
    says: /another episode/,
    step: 0,
  },
  {
    fault: "no end",
    env: broken({ reference: undefined as never, step: (_: Ctx, s: State) => ({ state: s, observation: s }) }),
    rule: "no-end",
    says: /maxEpisodeSteps/,
  },
  {
    fault: "a reference that earns less than it says",
    env: broken({
      reference: (_: Ctx, { left }: State) => ({ actions: Array<object>(left).fill({ take: 1 }), episodeReturn: 2 }),
    }),
    rule: "reference",
    says: /return of 1, not the 2/,
  },
  {
    fault: "a reference that is too long",
    env: broken({ reference: () => Array<object>(9).fill({ take: 1 }) }),
    rule: "reference",
    says: /of the reference's 9 actions/,
  },
  {
    fault: "a reference that is no list",
    env: broken({ reference: () => ({ take: 1 }) as never }),
    rule: "reference",
    says: /neither a list/,
    step: 0,
  },
  {
    fault: "a reference that stops before the end",
    env: broken({
      step: (_: Ctx, s: State) => ({ ...take(s), reward: 0 }),
      reference: () => ({ actions: [], episodeReturn: 0 }),
    }),
    rule: "reference",
    severity: "warning",
    says: /still runs/,
  },
  {
    fault: "an interpreter that needs does not name",
    env: broken({
      step: (ctx: Ctx, s: State) => {
        ctx.interpreter("python");
        return take(s);
      },
    }),
    rule: "undeclared-need",
    says: /add "interpreter:python"/,
    step: 1,
  },
  {
    fault: "an interpreter that nobody lent",
    env: broken({ needs: ["interpreter:python"] }),
    rule: "not-played",
    severity: "warning",
    says: /pass `lend`/,
  },
  {
    fault: "tasks that need files that nobody gave",
    env: broken({ tasks: (files) => taskList({ all: files.map(({ name }) => ({ id: name })) }) }),
    rule: "not-played",
    severity: "warning",
    says: /pass `files`/,
  },
  {
    fault: "actions that chance does not hit",
    env: broken({
      action: z.object({ take: z.int() }).refine(({ take }) => take === 1),
      options: z.object({ most: z.int().default(4) }),
    }),
    rule: "not-played",
    severity: "warning",
    says: /pass `actions`/,
  },
];
