/** What the server and an environment's thread say to each other. Values travel as tagged JSON. */

import type { InterpreterCall, InterpreterOutcome, Language } from "trailgym/env";
import type { Json } from "trailgym/protocol";

export type Verb = "reset" | "step" | "reference";

export type ToThread =
  | { type: "call"; id: number; verb: Verb; seed: number; index: number; task: unknown; values: Json[] }
  | { type: "abort"; id: number }
  | { type: "interpreted"; id: number; ask: number; answer: InterpreterAnswer };

export type FromThread =
  | { type: "ready" }
  | { type: "done"; id: number; outcome: Json }
  | { type: "failed"; id: number; message: string; stack: string | undefined; unavailable?: string; lost?: true }
  | { type: "log"; id: number; message: string; fields: Record<string, unknown> | undefined }
  | { type: "progress"; id: number; fraction: number; message: string | undefined }
  | { type: "interpret"; id: number; ask: number; language: Language; call: InterpreterCall };

export type InterpreterAnswer =
  | { outcome: InterpreterOutcome }
  | { failure: { kind: "lost" | "unavailable" | "other"; message: string; need?: string } };

/** Cells of the shared counter array that the thread writes and the server reads, without waking either. */
export const cell = {
  /** The id of the call whose synchronous code runs right now; 0 when none does. */
  current: 0,
  /** Goes up with every call taken, every answer, and every turn of the thread's event loop that was asked for. */
  pulse: 1,
} as const;
