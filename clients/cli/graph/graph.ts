/** Shows the tool-transition graph of trajectories. */

import { writeFile } from "node:fs/promises";
import { dotOf, summaryOf } from "../../../envs/mcp-tools/graph/show.ts";
import { statisticsOf } from "../../../envs/mcp-tools/graph/statistics.ts";
import { type Io, note, print } from "../terminal/io.ts";
import { graphOf } from "./sources.ts";

export interface GraphCommandOptions {
  format: "text" | "json" | "dot";
  out?: string;
  deduplicate: boolean;
  minCount: number;
  top: number;
  examples: number;
}

export async function graph(io: Io, paths: readonly string[], options: GraphCommandOptions): Promise<void> {
  const { format, out, deduplicate, minCount, top, examples } = options;
  const built = await graphOf(io, paths, { deduplicate, examples });
  const text = {
    text: () => `${summaryOf(built, top)}\n`,
    json: () => `${JSON.stringify({ ...built, statistics: statisticsOf(built) })}\n`,
    dot: () => dotOf(built, minCount),
  }[format]();
  if (out === undefined) return print(io, text);
  await writeFile(out, text);
  note(io, `wrote ${out}`);
}
