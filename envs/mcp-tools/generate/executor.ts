/** Who runs the calls of a generated workflow? Whoever is lent: a simulator here, real servers elsewhere. */

import { templateOutput } from "../simulator/template.ts";
import { textOf } from "../status.ts";
import type { Toolbook } from "./toolbook.ts";
import { fillTemplate } from "./outputs.ts";

export interface Executed {
  /** As a policy would see it. */
  output: unknown;
  isError: boolean;
}

/** One workflow's calls, one after another, on a state that nobody else sees. */
export interface Execution extends AsyncDisposable {
  call(tool: string, args: Readonly<Record<string, unknown>>): Promise<Executed>;
}

export interface Executor {
  /** @param seed of the workflow; where outputs are made up, they are made up from it. */
  begin(seed: number): Promise<Execution>;
}

/** Outputs from the book's templates, else by the verb in a tool's name; nothing fails. Texts, as most servers answer. */
export function simulatedExecutor(book: Toolbook): Executor {
  return {
    begin: (seed) =>
      Promise.resolve({
        call(name, args) {
          const tool = book.tools.get(name);
          if (tool === undefined) return Promise.resolve({ output: `Tool ${name} not found`, isError: true });
          const output =
            tool.output === undefined
              ? templateOutput(tool, args, JSON.stringify([seed, name, args]))
              : fillTemplate(tool.output, { tool: name, arguments: args, seed });
          return Promise.resolve({ output: textOf(output), isError: false });
        },
        [Symbol.asyncDispose]: () => Promise.resolve(),
      }),
  };
}
