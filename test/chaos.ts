/**
 * `npm run chaos`: 200 sessions, 20 kills, 1,000 episodes; some minutes. `npm run chaos -- --episodes 100 --kills 3 …` changes
 * the plan, and `--seed N` plays another one.
 */

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { chaos } from "./resources/chaos.ts";

const { values } = parseArgs({
  options: {
    sessions: { type: "string", default: "200" },
    episodes: { type: "string", default: "1000" },
    steps: { type: "string", default: "20" },
    kills: { type: "string", default: "20" },
    sockets: { type: "string", default: "8" },
    seed: { type: "string", default: "1" },
  },
});
const [sessions, episodes, steps, kills, sockets, seed] = [
  Number(values.sessions),
  Number(values.episodes),
  Number(values.steps),
  Number(values.kills),
  Number(values.sockets),
  Number(values.seed),
] as const;

const folder = mkdtempSync(join(tmpdir(), "trailgym-chaos-"));
const began = performance.now();
const note = (text: string) => process.stderr.write(`${((performance.now() - began) / 1000).toFixed(1)} s: ${text}\n`);
try {
  const data = join(folder, "data");
  const report = await chaos({ sessions, episodes, steps, kills, sockets, seed, data, note });
  const { restarts, differences, errors, left, ...counts } = report;
  const slowest = Math.round(Math.max(0, ...restarts));
  process.stdout.write(`${JSON.stringify({ ...counts, slowestRestartMs: slowest })}\n`);
  const bad = [...differences, ...errors, ...left.map((line) => `left behind: ${line}`)];
  if (counts.episodes !== episodes) bad.push(`only ${counts.episodes} of ${episodes} episodes ended`);
  if (counts.kills !== kills) bad.push(`only ${counts.kills} of ${kills} kills happened`);
  for (const line of bad.slice(0, 50)) process.stdout.write(`${line}\n`);
  process.stdout.write(bad.length === 0 ? "no step lost, doubled or swapped\n" : `${bad.length} things went wrong\n`);
  process.exitCode = bad.length === 0 ? 0 : 1;
} finally {
  rmSync(folder, { recursive: true, force: true });
}
