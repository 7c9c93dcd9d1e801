import { type Command, Option } from "commander";
import type { GraphCommandOptions } from "../graph/graph.ts";
import type { Io } from "../terminal/io.ts";
import { integer } from "../terminal/values.ts";

export function graphCommand(parent: Command, io: Io): void {
  parent
    .command("graph")
    .summary("show which tool follows which in trajectories")
    .description(
      "Builds the tool-transition graph of trajectories: tools, edges with counts, first and last tools, and the argument\n" +
        "names and values that each tool was called with. A graph as JSON is read again by `graph` and `generate`.",
    )
    .argument("<file...>", "trajectories (.jsonl), dataset folders, or one graph (.json)")
    .addOption(new Option("--format <form>", "what to print").choices(["text", "json", "dot"]).default("text"))
    .option("--out <file>", "write it there instead")
    .option("--deduplicate", "count a tool that follows itself as one call", false)
    .option("--examples <n>", "real arguments kept of each argument pattern", integer(0), 50)
    .option("--top <n>", "text: tools and edges that are listed", integer(1), 10)
    .option("--min-count <n>", "dot: leave out edges that were walked less often", integer(1), 1)
    .addHelpText(
      "after",
      `
Examples:
  $ trailgym graph trajectories.jsonl
  $ trailgym graph datasets/mine --format dot --min-count 5 | dot -Tsvg > tools.svg
  $ trailgym graph trajectories.jsonl --format json --out graph.json`,
    )
    .action(async (files: string[], options: GraphCommandOptions) =>
      (await import("../graph/graph.ts")).graph(io, files, options),
    );
}
