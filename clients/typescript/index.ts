/** The TypeScript client: episodes on a TrailGym server, from Node or a browser. */

export type { AgentClient, AgentObserveResult, AgentSession, AgentStepResult } from "./agent.ts";
export type { CapacityOptions } from "./capacity.ts";
export { type Client, connect, type MakeOptions, type TasksOptions } from "./client.ts";
export type { CallOptions } from "./connection/connection.ts";
export {
  ClientError,
  type ClientErrorCode,
  ClosedError,
  ConnectionLost,
  DeadlinePassed,
  LateCommit,
  ProtocolViolation,
  RequestTooLarge,
  SessionBusy,
  WrongRole,
} from "./errors.ts";
export type { Progress } from "./connection/incoming.ts";
export type { WebSocketConstructor, WebSocketLike } from "./connection/link.ts";
export type { ConnectOptions, ReconnectOptions, StateChange } from "./options.ts";
export type {
  ObserveResult,
  ResetOptions,
  ResetResult,
  Session,
  SnapshotRef,
  StepOptions,
  StepResult,
} from "./session.ts";
export type { VectorEnv, VectorReset, VectorResetOptions, VectorStep } from "./vector.ts";
export { WireError } from "trailgym/protocol";
