/** Is each environment what it was a moment ago? Asked before it is served, by playing it twice. */

import type { Finding } from "trailgym/env";
import { runChecks } from "./check-env/watched.ts";
import { findSources } from "./compose/compose.ts";
import type { ServeOptions } from "./settings.ts";
import { Failure } from "./terminal/failure.ts";
import { type Io, note } from "./terminal/io.ts";

/** What makes the same seed and actions another episode. */
const differs: ReadonlySet<Finding["rule"]> = new Set([
  "chance",
  "keeps-state",
  "mutates-input",
  "replay",
  "state-identity",
]);
/** A step that never returns is for its own deadline to end; here it only must not keep the server from its start. */
const STUCK_MS = 10_000;

/** @throws Failure where an environment differs from itself, once each has been played. */
export async function attest(io: Io, options: ServeOptions): Promise<void> {
  const { definitions } = await findSources(options);
  const refused: string[] = [];
  await runChecks(
    {
      envs: definitions.map(({ id }) => id),
      options: { ...options, perSplit: 1, seeds: 1 },
      stuckMs: options.stepTimeoutMs ?? STUCK_MS,
    },
    {
      found: () => undefined,
      begins: () => undefined,
      report({ name, findings }) {
        const found = findings.find(({ rule }) => differs.has(rule));
        if (found === undefined) return;
        refused.push(name);
        note(io, `${name}: ${found.message}`);
      },
    },
  );
  if (refused.length === 0) return;
  const differ = refused.length === 1 ? "differs from itself" : "differ from themselves";
  throw new Failure(`not served: ${refused.join(", ")} ${differ}; \`trailgym check-env\` says more`);
}
