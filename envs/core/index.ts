/** Everything an environment's author needs. */

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
export { nextSeed, rng, type Rng } from "./rng.ts";
export {
  SandboxLost,
  SandboxUnavailable,
  type Interpreter,
  type InterpreterCall,
  type InterpreterLimits,
  type InterpreterOutcome,
  type Language,
} from "./sandbox.ts";
export { taskList, type PublicTask, type TaskFiles, type TaskPage, type TaskSource } from "./tasks.ts";
