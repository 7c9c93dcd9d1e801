/** The server's log: pino on stderr, so that stdout stays for what a command prints. */

import { type Logger, pino } from "pino";

/** @param level pino's levels, or `silent`. Actions, observations and tokens are never among the fields. */
export function createLog(level = "warn"): Logger {
  return pino({ level, base: null }, pino.destination(2));
}
