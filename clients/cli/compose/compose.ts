/** The one place where a server, environments, tasks and sandboxes are put together. */

import { randomUUID } from "node:crypto";
import { type AnyEnv, discover, type TaskFiles } from "trailgym/env";
import {
  createInterpreters,
  createLog,
  createRegistry,
  createServer,
  openTelemetry as openTelemetryTracer,
  type Server,
  type ServerConfig,
  threaded,
  type Tracer,
} from "trailgym/server";
import { beside } from "../beside.ts";
import { type Dataset, findDatasets } from "./datasets.ts";
import { Failure } from "../terminal/failure.ts";
import { lendPackage } from "./lend-package.ts";
import { modelOf } from "./model.ts";
import { builtInEnvs, builtInTasks, packageVersion } from "../package.ts";
import { failureOf } from "./problems.ts";
import type { SourceOptions } from "../settings.ts";

export interface Sources {
  readonly definitions: readonly AnyEnv[];
  /** Files of those that came with the command line, by id. */
  readonly given: ReadonlyMap<string, string>;
  readonly datasets: readonly (Dataset & { readonly given: boolean })[];
  /** By environment, as the registry takes them. */
  readonly files: ReadonlyMap<string, readonly TaskFiles[]>;
}

/** @throws Failure when a path that was asked for cannot be used. */
export async function findSources({ envs = [], tasks = [], builtinTasks }: SourceOptions): Promise<Sources> {
  if (envs.length > 0) lendPackage();
  const { found, problems } = await discover([builtInEnvs, ...envs]);
  if (problems.length > 0) throw failureOf(problems);
  const definitions = found.map(({ definition }) => definition);
  const ids = new Set(definitions.map(({ id }) => id));
  const added = found.filter(({ file }) => !file.startsWith(builtInEnvs));

  const builtIn = builtinTasks ? await findDatasets(builtInTasks).catch(() => []) : [];
  const more = (await Promise.all(tasks.map(findDatasets))).flat();
  for (const { env, files } of more) {
    if (ids.has(env)) continue;
    throw new Failure(
      `${files.name}/dataset.json is for ${env}, which is not among ${[...ids].join(", ")}; --envs adds it`,
    );
  }
  // A folder that is given and built in, or given twice, is one dataset.
  const byFolder = new Map(
    [
      ...builtIn.map((dataset) => ({ ...dataset, given: false })),
      ...more.map((dataset) => ({ ...dataset, given: true })),
    ].map((dataset) => [dataset.folder, dataset]),
  );
  const datasets = [...byFolder.values()].filter(({ env }) => ids.has(env));
  const grouped = Map.groupBy(datasets, ({ env }) => env);
  const files = new Map([...grouped].map(([env, list]) => [env, list.map((dataset) => dataset.files)]));
  return { definitions, given: new Map(added.map(({ definition, file }) => [definition.id, file])), datasets, files };
}

export interface HostOptions {
  /** For untrusted code, of each language. */
  processes?: number | undefined;
  /** Tell spans to OpenTelemetry. */
  openTelemetry?: boolean | undefined;
}

export interface Composed extends AsyncDisposable {
  readonly server: Server;
  /** Ids. */
  readonly envs: readonly string[];
}

/** @throws what {@link findSources} and the server throw. Nothing starts for code that nobody runs. */
export async function compose(
  options: SourceOptions,
  config: Partial<ServerConfig>,
  { processes, openTelemetry = false }: HostOptions = {},
): Promise<Composed> {
  const { definitions, given, files } = await findSources(options);
  const instance = randomUUID();
  await using threads = new AsyncDisposableStack();
  const hosted = definitions.map((definition) => {
    const file = given.get(definition.id);
    if (file === undefined || !options.threads) return definition;
    // Nobody knows it: a step of it that never returns must not be the end of the server.
    return threads.use(threaded(definition, lent(file)));
  });
  const registry = await createRegistry(hosted, files);
  const log = createLog(options.logLevel);
  const version = await packageVersion();
  const server = await createServer({
    registry,
    config,
    interpreters: createInterpreters({ instance, ...(processes === undefined ? {} : { processes }) }),
    model: await modelOf(options, log),
    log,
    version,
    tracer: openTelemetry ? await tracerOf(version) : undefined,
    instance,
  });
  const owned = threads.move();
  owned.use(server);
  return {
    server,
    envs: registry.list().map(({ id }) => id),
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

async function tracerOf(version: string): Promise<Tracer> {
  try {
    return await openTelemetryTracer(version);
  } catch (error) {
    throw new Failure("--open-telemetry needs a package: npm install @opentelemetry/api", { cause: error });
  }
}

function lent(file: string): string {
  const url = beside(import.meta.url, "./lent-env.ts");
  url.searchParams.set("file", file);
  return url.href;
}
