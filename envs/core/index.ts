/** Everything an environment's author needs. */

export { problemWith, sameJson, type JsonSchema } from "./arguments.ts";
export { parseCall, toolAction, type ToolAction, type ToolCall } from "./call.ts";
export { checkEnv, type CheckOptions, type CheckReport } from "./check.ts";
export type { Finding, Rule } from "./checks/finding.ts";
export type { CallBegins, Lender } from "./checks/stage.ts";
export {
  defineEnv,
  type AnyEnv,
  type EnvContext,
  type EnvDefinition,
  type Need,
  type Reference,
  type ResetOutcome,
  type StepOutcome,
} from "./define.ts";
export { discover, DiscoveryProblem, type Discovered } from "./discovery.ts";
export {
  ModelUnavailable,
  type Model,
  type ModelFailure,
  type ModelMessage,
  type ModelReply,
  type ModelRequest,
} from "./model.ts";
export { nextSeed, rng, type Rng } from "./rng.ts";
export { sampleAction, sampleToolCall } from "./sample.ts";
export {
  SandboxLost,
  SandboxUnavailable,
  type Interpreter,
  type InterpreterCall,
  type InterpreterLimits,
  type InterpreterOutcome,
  type Language,
} from "./sandbox.ts";
export {
  WorkspaceError,
  type ExecEnd,
  type ExecRequest,
  type ExecResult,
  type FileEntry,
  type Output,
  type Workspace,
} from "./workspace.ts";
export { taskList, type PublicTask, type TaskFiles, type TaskPage, type TaskSource } from "./tasks.ts";
export {
  defineToolEnv,
  toolbox,
  type DynamicToolEnv,
  type Tool,
  type Toolbox,
  type ToolboxEntry,
  type ToolEnv,
  type ToolObservation,
  type ToolResult,
  type ToolState,
} from "./tools.ts";
