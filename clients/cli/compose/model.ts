/** Which model do environments borrow that simulate tools, and how much of it? */

import { type Command, Option } from "commander";
import type { createLog, LentModel } from "trailgym/server";
import { UsageError } from "../terminal/failure.ts";
import { integer } from "../terminal/values.ts";

export interface ModelOptions {
  modelUrl?: string;
  model?: string;
  modelKey?: string;
  modelCache?: string;
  modelBudget?: number;
  modelTimeoutMs?: number;
}

export function modelOptions(command: Command): Command {
  const add = (flag: string, what: string, variable: string) => new Option(flag, what).env(`TRAILGYM_MODEL${variable}`);
  return command
    .addOption(
      add(
        "--model-url <url>",
        "an OpenAI-compatible server whose model plays simulated tools, as http://host/v1",
        "_URL",
      ),
    )
    .addOption(add("--model <name>", "the model, as that server calls it", ""))
    .addOption(add("--model-key <key>", "that server's key; prefer the variable, a flag shows in `ps`", "_KEY"))
    .addOption(
      add("--model-cache <file>", "keep the model's replies; without --model-url only these are used", "_CACHE"),
    )
    .addOption(
      add("--model-budget <n>", "requests that may be sent (default: no limit)", "_BUDGET").argParser(integer(0)),
    )
    .addOption(add("--model-timeout-ms <ms>", "for one reply (default 30000)", "_TIMEOUT_MS").argParser(integer(1)));
}

/** @throws UsageError where half is said. */
export async function modelOf(
  options: ModelOptions,
  log: ReturnType<typeof createLog>,
): Promise<LentModel | undefined> {
  const { modelUrl: url, model, modelKey: key, modelCache: cacheFile, modelBudget, modelTimeoutMs } = options;
  if (url === undefined && cacheFile === undefined) return undefined;
  if (model === undefined)
    throw new UsageError(`${url === undefined ? "--model-cache" : "--model-url"} needs --model NAME`);
  if (url !== undefined && !/^https?:\/\/./.test(url))
    throw new UsageError(`--model-url ${url} is not an http address`);
  const { createModel } = await import("trailgym/server");
  const config = {
    server: url === undefined ? undefined : { url, model, key },
    id: model,
    ...(cacheFile === undefined ? {} : { cacheFile }),
    ...(modelBudget === undefined ? {} : { maxRequests: modelBudget }),
    ...(modelTimeoutMs === undefined ? {} : { timeoutMs: modelTimeoutMs }),
  };
  return createModel(config, log).catch((error: Error) => {
    throw new UsageError(`--model-cache ${cacheFile}: ${error.message}`, { cause: error });
  });
}
