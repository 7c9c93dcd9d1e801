/** What embeds a server: the command line, a trainer that serves itself, tests. */

export { defaults, type ServerConfig, type TokenEntry } from "./config.ts";
export { threaded, type ThreadedEnv } from "./hosts/threaded.ts";
export { JournalError, type JournalProblem } from "./journal/error.ts";
export type { Journal } from "./journal/journal.ts";
export { memoryJournal } from "./journal/memory.ts";
export {
  checkJournal,
  type CheckReport,
  compactJournal,
  copyJournal,
  type JournalReader,
  readJournal,
} from "./journal/operator.ts";
export { readTrajectory } from "./journal/trajectory.ts";
export { createLog } from "./log.ts";
export { createModel, type LentModel, type ModelConfig } from "./models/model.ts";
export { createRegistry, type HostedEnv, type Registry } from "./registry.ts";
export { createServer, type Server, type ServerParts } from "./server.ts";
export { openTelemetry, type Tracer } from "./tracing.ts";
export { createInterpreters } from "./sandboxes/interpreters.ts";
