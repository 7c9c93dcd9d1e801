/** What do the thread that checks and the one that watches it say to each other? */

import type { CallBegins, CheckReport } from "trailgym/env";
import type { CheckSettings } from "./checks.ts";

export interface Job {
  envs: readonly string[];
  options: CheckSettings;
  /** Checks that an earlier thread has seen the end of. */
  skip: number;
  /** How long a call may keep its thread from everything else. */
  stuckMs: number;
}

export type FromThread =
  | { kind: "alive" }
  | { kind: "found"; total: number }
  | { kind: "begins"; name: string; id: string; everyTask: boolean }
  | ({ kind: "call" } & CallBegins)
  | { kind: "report"; report: CheckReport }
  /** Nothing can be checked. */
  | { kind: "failed"; message: string }
  | { kind: "done" };
