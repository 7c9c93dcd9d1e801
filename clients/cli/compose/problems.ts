/** What kept environment files from being used, and in which line? */

import { fileURLToPath } from "node:url";
import type { DiscoveryProblem } from "trailgym/env";
import { Failure } from "../terminal/failure.ts";

export function failureOf(problems: readonly DiscoveryProblem[]): Failure {
  return new Failure(problems.map(lineOf).join("\n"));
}

function lineOf({ message, cause }: DiscoveryProblem): string {
  const place = placeOf(cause);
  return place === undefined ? message : `${message}, at ${place}`;
}

/** Node puts the place of a syntax error on the first line of its stack, that of any other into the first frame. */
function placeOf(cause: unknown): string | undefined {
  const stack = cause instanceof Error ? (cause.stack ?? "") : "";
  const [, file, line] =
    /^(.+):(\d+)\n/.exec(stack) ?? /^ +at (?:.*\()?(file:\/\/\S+?):(\d+):\d+\)?$/m.exec(stack) ?? [];
  if (file === undefined) return undefined;
  return `${file.startsWith("file:") ? fileURLToPath(file) : file}:${line}`;
}
