/** What is an environment whose action is a tool call? `defineToolEnv` answers with a table of tools, or with a toolbox per task. */

import type { ToolSpec } from "trailgym/protocol";
import { z } from "zod";
import { problemWith, type JsonSchema } from "./arguments.ts";
import { parseCall, toolAction, type ToolAction, type ToolCall } from "./call.ts";
import { defineEnv, type EnvContext, type EnvDefinition, type Reference, type StepOutcome } from "./define.ts";

type Outcome<T> = T | Promise<T>;

/** What the policy sees of a call, and of the reset. `isError`: the call did not do what it asked for; the episode goes on. */
export interface ToolObservation {
  /** Text, or any JSON value that a tool returns. */
  content: unknown;
  isError: boolean;
}

/** The state of a tool environment: the author's own, and how much of the call budget is used. */
export interface ToolState<State> {
  /** Calls so far, the refused and unreadable ones included. */
  calls: number;
  /** Reaching it without the task's end truncates the episode. */
  maxCalls: number;
  ended: "terminated" | "truncated" | null;
  state: State;
}

export interface ToolResult<State> {
  content: unknown;
  /** Default false. */
  isError?: boolean;
  /** Default: as before. */
  state?: State;
  reward?: number;
  terminated?: boolean;
  truncated?: boolean;
  info?: Record<string, unknown>;
}

/** One row of the table: what the policy reads, what it may pass, and what happens. A string is a result's content. */
export interface Tool<State, Shape extends z.ZodRawShape, Task> {
  description: string;
  /** All keys are required unless `.optional()`; others are refused. Describe each with `.describe()`. */
  parameters: Shape;
  run(ctx: EnvContext<Task>, state: State, args: z.output<z.ZodObject<Shape>>): Outcome<ToolResult<State> | string>;
}

/** The tools of one task, where they are not known before the task is. */
export interface Toolbox {
  readonly specs: readonly ToolSpec[];
  /** @returns undefined for a name that no tool has. `tool` is what `call` gets, which may differ from the name shown. */
  find(name: string): { tool: string; check(args: Record<string, unknown>): Checked } | undefined;
}

export type Checked = { arguments: Record<string, unknown> } | { problem: string };

interface ToolEnvCommon<State, Options, Task> {
  id: string;
  summary: string;
  state: z.ZodType<State>;
  options: z.ZodType<Options>;
  needs?: EnvDefinition["needs"];
  tasks?: EnvDefinition<unknown, unknown, unknown, unknown, Task>["tasks"];
  /** The call budget of an episode. */
  maxCalls: number | ((ctx: EnvContext<Task>, options: Options) => number);
  /** `content` is what the policy reads first: the problem. */
  reset(
    ctx: EnvContext<Task>,
    options: Options,
  ): Outcome<{ state: State; content: unknown; info?: Record<string, unknown> }>;
  reference?(ctx: EnvContext<Task>, state: State): Outcome<Reference<ToolAction>>;
  checkTask?(ctx: EnvContext<Task>): Promise<readonly string[]>;
}

export interface ToolEnv<State, Options, Shapes extends Record<string, z.ZodRawShape>, Task> extends ToolEnvCommon<
  State,
  Options,
  Task
> {
  tools: { [Name in keyof Shapes]: Tool<State, Shapes[Name], Task> };
}

export interface DynamicToolEnv<State, Options, Task> extends ToolEnvCommon<State, Options, Task> {
  /** Called in every reset and step: cache what does not change. @param state right after reset, or before the step. */
  toolbox(ctx: EnvContext<Task>, state: State): Outcome<Toolbox>;
  /** A call of a tool that exists, with arguments that its check passed. */
  call(ctx: EnvContext<Task>, state: State, call: ToolCall): Outcome<ToolResult<State> | string>;
}

type ToolEnvDefinition<State, Options, Task> = EnvDefinition<
  ToolState<State>,
  ToolAction,
  ToolObservation,
  Options,
  Task
>;

/**
 * An environment whose action is a tool call. A call that cannot be read, names no tool, or has arguments that do not fit
 * is an observation with `isError`, counts as a call, and leaves the state as it was. With `tools` the specs are part of
 * the definition; with `toolbox` they come in reset's reply.
 */
export function defineToolEnv<State, Options, Shapes extends Record<string, z.ZodRawShape>, Task = undefined>(
  definition: ToolEnv<State, Options, Shapes, Task>,
): ToolEnvDefinition<State, Options, Task>;
export function defineToolEnv<State, Options, Task = undefined>(
  definition: DynamicToolEnv<State, Options, Task>,
): ToolEnvDefinition<State, Options, Task>;
export function defineToolEnv<State, Options, Task>(
  definition: ToolEnv<State, Options, Record<string, z.ZodRawShape>, Task> | DynamicToolEnv<State, Options, Task>,
): ToolEnvDefinition<State, Options, Task> {
  const { maxCalls } = definition;
  const { fixed, toolbox, call } = "tools" in definition ? fromTable(definition.tools) : perTask(definition);

  return defineEnv<ToolState<State>, ToolAction, ToolObservation, Options, Task>({
    id: definition.id,
    summary: definition.summary,
    state: z.object({
      calls: z.int(),
      maxCalls: z.int(),
      ended: z.enum(["terminated", "truncated"]).nullable(),
      state: definition.state,
    }),
    action: toolAction,
    observation: z.object({ content: z.unknown(), isError: z.boolean() }),
    options: definition.options,
    ...(fixed ? { tools: fixed.specs } : {}),
    ...(definition.needs ? { needs: definition.needs } : {}),
    ...(definition.tasks ? { tasks: definition.tasks } : {}),

    async reset(ctx, options) {
      const { state, content, info } = await definition.reset(ctx, options);
      const budget = typeof maxCalls === "number" ? maxCalls : maxCalls(ctx, options);
      return {
        state: { calls: 0, maxCalls: budget, ended: null, state },
        observation: { content, isError: false },
        ...(info ? { info } : {}),
        ...(fixed ? {} : { tools: (await toolbox(ctx, state)).specs }),
      };
    },

    async step(ctx, before, action) {
      if (before.ended !== null) return afterEnd(before);
      const box = await toolbox(ctx, before.state);
      const request = requested(box, action);
      const answer = "problem" in request ? refusal(request.problem) : await call(ctx, before.state, request.call);
      return outcome(before, typeof answer === "string" ? { content: answer } : answer);
    },

    ...(definition.reference && { reference: async (ctx, { state }) => definition.reference?.(ctx, state) ?? [] }),
    ...(definition.checkTask && { checkTask: async (ctx) => definition.checkTask?.(ctx) ?? [] }),
  });
}

/** The engine refuses a step after the end; whoever calls `step` without it finds that nothing can be won any more. */
function afterEnd<State>(state: ToolState<State>): StepOutcome<ToolState<State>, ToolObservation> {
  const observation = { content: "The episode has ended.", isError: true };
  return {
    state,
    observation,
    reward: 0,
    terminated: state.ended === "terminated",
    truncated: state.ended === "truncated",
  };
}

function requested(box: Toolbox, action: ToolAction): { call: ToolCall } | { problem: string } {
  const parsed = parseCall(action);
  if ("problem" in parsed) {
    const form = '{"tool": "…", "arguments": {…}}';
    return { problem: `The call could not be read: ${parsed.problem}. Write one JSON object of the form ${form}.` };
  }
  const { tool: name, arguments: args } = parsed.call;
  const found = box.find(name);
  if (found === undefined) {
    const names = box.specs.map((spec) => spec.name).join(", ");
    return { problem: `There is no tool ${JSON.stringify(name)}. The tools are: ${names}.` };
  }
  const checked = found.check(args);
  if ("problem" in checked) return { problem: `The arguments of ${name} do not fit: ${checked.problem}.` };
  return { call: { tool: found.tool, arguments: checked.arguments } };
}

const refusal = (problem: string) => ({ content: problem, isError: true });

function outcome<State>(
  before: ToolState<State>,
  { content, isError = false, state = before.state, reward = 0, info, ...end }: ToolResult<State>,
): StepOutcome<ToolState<State>, ToolObservation> {
  const calls = before.calls + 1;
  const terminated = end.terminated ?? false;
  const truncated = !terminated && ((end.truncated ?? false) || calls >= before.maxCalls);
  const ended = terminated ? "terminated" : truncated ? "truncated" : null;
  return {
    state: { calls, maxCalls: before.maxCalls, ended, state },
    observation: { content, isError },
    reward,
    terminated,
    truncated,
    ...(info ? { info } : {}),
  };
}

export interface ToolboxEntry {
  spec: ToolSpec;
  /** What arguments are checked against, where that is not what the policy is shown. Default: the spec's `inputSchema`. */
  accepts?: JsonSchema;
  /** What `call` gets as `tool`. Default: the spec's name. */
  tool?: string;
}

/** A toolbox from specs. @param alias another name that a policy may have meant, looked up when no tool has the name itself. */
export function toolbox(entries: readonly ToolboxEntry[], alias?: (name: string) => string | undefined): Toolbox {
  const byName = new Map(
    entries.map(({ spec, accepts = spec.inputSchema, tool = spec.name }) => {
      const check = (args: Record<string, unknown>): Checked => {
        const problem = problemWith(accepts, args);
        return problem === undefined ? { arguments: args } : { problem };
      };
      return [spec.name, { tool, check }];
    }),
  );
  if (byName.size < entries.length) throw new Error(`two tools have one name: ${[...byName.keys()].join(", ")}`);
  return {
    specs: entries.map(({ spec }) => spec),
    find: (name) => byName.get(name) ?? byName.get(alias?.(name) ?? name),
  };
}

function perTask<State, Options, Task>(definition: DynamicToolEnv<State, Options, Task>) {
  return {
    fixed: undefined,
    toolbox: (ctx: EnvContext<Task>, state: State) => definition.toolbox(ctx, state),
    call: (ctx: EnvContext<Task>, state: State, call: ToolCall) => definition.call(ctx, state, call),
  };
}

function fromTable<State, Task>(tools: Record<string, Tool<State, z.ZodRawShape, Task>>) {
  const found = new Map(Object.entries(tools).map(([name, tool]) => [name, fromRow(name, tool)]));
  const fixed: Toolbox = { specs: [...found.values()].map(({ spec }) => spec), find: (name) => found.get(name) };
  return {
    fixed,
    toolbox: () => fixed,
    call: (ctx: EnvContext<Task>, state: State, { tool, arguments: args }: ToolCall) =>
      (tools[tool] as Tool<State, z.ZodRawShape, Task>).run(ctx, state, args),
  };
}

function fromRow<State, Task>(name: string, { description, parameters }: Tool<State, z.ZodRawShape, Task>) {
  const schema = z.strictObject(parameters);
  const { $schema: _, ...inputSchema } = z.toJSONSchema(schema, { io: "input" });
  const check = (args: Record<string, unknown>): Checked => {
    const parsed = schema.safeParse(args);
    return parsed.success ? { arguments: parsed.data } : { problem: sentence(parsed.error, args) };
  };
  return { spec: { name, description, inputSchema }, tool: name, check };
}

function sentence(error: z.ZodError, args: Record<string, unknown>): string {
  const problems = error.issues.map(({ path, message }) => {
    const at = path.map(String).join(".");
    if (path.length === 1 && !Object.hasOwn(args, at)) return `"${at}" is missing`;
    return at === "" ? message : `"${at}": ${message}`;
  });
  return problems.join("; ");
}
