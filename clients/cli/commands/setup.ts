import type { Command } from "commander";
import type { SetupTensorflowOptions } from "../setup.ts";
import type { Io } from "../terminal/io.ts";

export function setupCommand(parent: Command, io: Io): void {
  const setup = parent.command("setup").summary("build what makes training faster");
  setup.description("Builds, in the user's cache, what no package registry has ready-made.");
  setup
    .command("tensorflow")
    .summary("the TensorFlow backend, from the libraries of its Python wheel")
    .description(
      "Downloads TensorFlow's Python wheel and tfjs-node's sources by name, checks their digests, and compiles the binding.\n" +
        "Needs Python with pip, npm and a C++ compiler. A second time it checks what is there; stopped, it goes on where it was.",
    )
    .option("--gpu", "TensorFlow and CUDA for a GPU (this variant was never tried on one)", false)
    .option("--force", "build again what is there", false)
    .option("--folder <dir>", "where to build; default the user's cache, where training looks")
    .option("--json", "print the result as JSON", false)
    .addHelpText(
      "after",
      `
Examples:
  $ trailgym setup tensorflow
  $ trailgym setup tensorflow --gpu`,
    )
    .action(async (options: SetupTensorflowOptions) => (await import("../setup.ts")).setup(io, options));
}
