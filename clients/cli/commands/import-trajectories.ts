import { type Command, Option } from "commander";
import type { FormatName } from "../../../envs/mcp-tools/import/formats/formats.ts";
import type { GenerateCommandOptions } from "../generate/generate.ts";
import type { ImportTrajectoriesOptions } from "../import-trajectories.ts";
import type { Io } from "../terminal/io.ts";
import { share } from "./baselines.ts";
import { walkOptions } from "./generate.ts";
import { integer } from "../terminal/values.ts";

/** As the formats themselves say it; they are loaded when one of them is imported. */
const formats: Record<FormatName, [what: string, example: string]> = {
  "traject-bench": [
    "TRAJECT-Bench: public_data/{sequential,parallel}/<domain>/*.json",
    "public_data/sequential/*/traj_query.json --strict",
  ],
  bfcl: [
    "BFCL multi-turn: questions, possible_answer/ and multi_turn_func_doc/ files, in any order",
    "BFCL_v4_multi_turn_base.json possible_answer/BFCL_v4_multi_turn_base.json multi_turn_func_doc/*.json",
  ],
  livemcp: [
    "LiveMCPBench: baseline/annotation/*.json, and its tools with --tools",
    "annotation.json --tools tools/LiveMCPTool/tools.json",
  ],
  atif: ["ATIF 1.x, the trajectories of Harbor and Terminal-Bench", "jobs/*/trajectory.json"],
  "openai-messages": ['chat messages with tool calls: {"messages": […], "tools"?: […]}, or the bare list', "log.jsonl"],
  trajectories: ["TrailGym's own trajectory files", "trajectories.jsonl --tools tools.json"],
};

export function trajectoryImports(parent: Command, io: Io): void {
  for (const [format, [what, example]] of Object.entries(formats) as [FormatName, [string, string]][]) {
    parent
      .command(format)
      .summary(what)
      .description(
        `Reads ${what}.\nEach trajectory becomes a task of mcp-tools-v1 with the recorded calls as its reference. Bad rows are listed and the\n` +
          "good ones imported. Exit code 0 when any task was imported, 1 when none was.",
      )
      .argument("<file...>", "JSON or JSON lines")
      .requiredOption("--out <dir>", "the dataset folder to make; must not exist, or be empty")
      .option("--tools <file...>", "descriptions and schemas of tools: lists of MCP or of model APIs, tables by name")
      .option(
        "--strict",
        "leave out trajectories with an output that is an API's error though it counts as a success",
        false,
      )
      .option("--keep-failed", "keep trajectories that did not solve their task", false)
      .option("--distractors <n>", "tools shown beside those used, where the source does not list all", integer(0), 8)
      .addOption(
        new Option("--split-by <what>", "how tasks are parted into train and test; chain: no solution is in both")
          .choices(["chain", "query", "task"])
          .default("chain"),
      )
      .option("--test <share>", "share for testing", share, 0.2)
      .option("--seed <n>", "of the shuffle", integer(0), 42)
      .option("--split <name>", "instead: all tasks belong to this split")
      .option("--limit <n>", "at most so many tasks, the first ones", integer(1))
      .option("--name <name>", "the dataset's name; default the folder's")
      .option("--json", "print {out, tasks, tools, chains, failed, apiErrors, problems, repairs}")
      .addHelpText("after", `\nExample:\n  $ trailgym import ${format} ${example} --out datasets/mine`)
      .action(async (files: string[], options: ImportTrajectoriesOptions) =>
        (await import("../import-trajectories.ts")).importTrajectoryFiles(io, format, files, options),
      );
  }
  walkOptions(parent.command("toolathlon-graph").summary("PhGPO's released tool graphs, as generated tasks"))
    .description(
      "Reads a tool graph as PhGPO publishes it (mcp_rl_graph*.json) or with its variants merged. A graph has no tasks: they\n" +
        "are generated from it, as `generate mcp-tools --graph` does.",
    )
    .argument("<file>", "the graph, JSON")
    .requiredOption("--out <dir>", "the dataset folder to make; must not exist, or be empty")
    .addHelpText(
      "after",
      "\nExample:\n  $ trailgym import toolathlon-graph mcp_rl_graph_v2.json --out datasets/toolathlon --tasks 500",
    )
    .action(async (file: string, options: GenerateCommandOptions) =>
      (await import("../generate/generate.ts")).generate(io, { ...options, graph: [file] }),
    );
}
