/** Where do built backends and other large things lie? Outside of `node_modules`, which `npm ci` empties. */

import { homedir } from "node:os";
import path from "node:path";

/** `$XDG_CACHE_HOME/trailgym`, or `~/.cache/trailgym`. */
export function cacheFolder(env: NodeJS.ProcessEnv = process.env, home: string = homedir()): string {
  const base = env.XDG_CACHE_HOME;
  // The XDG specification: a relative path is to be ignored.
  return path.join(base !== undefined && path.isAbsolute(base) ? base : path.join(home, ".cache"), "trailgym");
}

/** A finished build has this file, written last. */
export const readyFile = "ready.json";
