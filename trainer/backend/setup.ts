/**
 * `trailgym setup tensorflow`: how is the TensorFlow backend built where tfjs-node's own install step cannot download its
 * library? From the libraries of TensorFlow's Python wheel, tfjs-node's sources and a C++ compiler.
 */

import { mkdir, mkdtemp, readdir, readFile, rename, rm, symlink, writeFile } from "node:fs/promises";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { type Downloads, downloads, type Tools } from "./download.ts";
import { cacheFolder, readyFile } from "./folders.ts";
import { type Recipe, recipeFor, type Variant } from "./recipe.ts";
import { CommandFailed, run, type Run } from "./run.ts";
import { coreSymbol } from "./tensorflow.ts";

export class SetupError extends Error {
  override readonly name = "SetupError";
}

export interface SetupOptions {
  variant: Variant;
  say: (line: string) => void;
  signal?: AbortSignal;
  /** Default: the user's cache. */
  folder?: string;
  /** Builds again what is there. */
  force?: boolean;
  recipe?: Recipe | undefined;
  run?: Run;
}

export interface SetupResult {
  folder: string;
  /** False: it was there already. */
  built: boolean;
  gpu: boolean;
}

/**
 * Idempotent: a finished build is checked and kept. Downloads that an interrupted run finished are not fetched again, and
 * nothing but them is left by a run that fails.
 * @throws SetupError for a platform without a recipe, a missing program, a wrong digest, or a build that does not work.
 */
export async function setupTensorflow(options: SetupOptions): Promise<SetupResult> {
  const { variant, say, signal, force = false } = options;
  const recipe = options.recipe ?? recipeFor(variant, process.platform, process.arch);
  if (recipe === undefined) {
    throw new SetupError(
      `there is no TensorFlow library for ${variant} on ${process.platform}-${process.arch} that this recipe can use; training uses WebAssembly`,
    );
  }
  const base = options.folder ?? cacheFolder();
  const target = path.join(base, recipe.id);
  const launch: Run = (command, args, more) => (options.run ?? run)(command, args, { ...more, signal });
  try {
    if (!force && (await isReady(target))) {
      const { gpu } = await check(launch, target);
      say(`already there and working: ${target}`);
      return { folder: target, built: false, gpu };
    }
    say(announce(recipe, target));
    const tools = await findTools(launch);
    await mkdir(base, { recursive: true });
    await sweep(base, recipe.id);
    const store = downloads({ folder: path.join(base, "downloads"), recipe, tools, run: launch, say });
    const gpu = await build({ recipe, base, target, store, tools, launch, say });
    await store.clear();
    say(`ready: ${target}`);
    return { folder: target, built: true, gpu };
  } catch (error) {
    if (error instanceof CommandFailed) throw new SetupError(error.message, { cause: error });
    throw error;
  }
}

/** The finished build of one variant, GPU first when none is named. */
export async function findTensorflow(base: string = cacheFolder()): Promise<string | undefined> {
  for (const variant of ["gpu", "cpu"] as const) {
    const recipe = recipeFor(variant, process.platform, process.arch);
    const folder = recipe && path.join(base, recipe.id);
    if (folder !== undefined && (await isReady(folder))) return folder;
  }
  return undefined;
}

async function isReady(folder: string): Promise<boolean> {
  try {
    const { id } = JSON.parse(await readFile(path.join(folder, readyFile), "utf8")) as { id?: string };
    return id === path.basename(folder);
  } catch {
    return false;
  }
}

function announce({ wheels, archives, downloadBytes, diskBytes }: Recipe, target: string): string {
  const names = [
    ...wheels.map(({ name, version }) => `${name} ${version} (pip)`),
    ...Object.values(archives).map(({ name, version }) => `${name} ${version} (npm)`),
  ];
  return [
    `downloads ${size(downloadBytes)}, takes ${size(diskBytes)} in ${target}:`,
    ...names.map((name) => `  ${name}`),
    "TensorFlow is under the Apache licence 2.0; its third-party notices are kept beside the libraries.",
  ].join("\n");
}

function size(bytes: number): string {
  return bytes >= 1e9 ? `${(bytes / 1e9).toFixed(1)} GB` : `${Math.round(bytes / 1e6)} MB`;
}

async function findTools(launch: Run): Promise<Tools> {
  const found = async (commands: readonly string[], args: readonly string[], what: string) => {
    for (const command of commands) {
      try {
        await launch(command, args);
        return command;
      } catch (error) {
        if (!(error instanceof CommandFailed)) throw error;
      }
    }
    throw new SetupError(`${what} is needed: none of ${commands.join(", ")} works`);
  };
  return {
    python: await found(["python3", "python"], ["-m", "pip", "--version"], "Python with pip (it unpacks the wheel)"),
    npm: await found(["npm"], ["--version"], "npm"),
    compiler: await found(["g++", "c++", "clang++"], ["--version"], "a C++ compiler"),
  };
}

/** Removes what runs that were killed left behind; a run under way keeps its folder. */
async function sweep(base: string, id: string): Promise<void> {
  for (const name of await readdir(base)) {
    const pid = /\.partial-(\d+)-/.exec(name)?.[1];
    if (name.startsWith(id) && pid !== undefined && !alive(Number(pid))) {
      await rm(path.join(base, name), { recursive: true, force: true });
    }
  }
}

function alive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
}

interface Build {
  recipe: Recipe;
  base: string;
  target: string;
  store: Downloads;
  tools: Tools;
  launch: Run;
  say: (line: string) => void;
}

async function build({ recipe, base, target, store, tools, launch, say }: Build): Promise<boolean> {
  const partial = await mkdtemp(path.join(base, `${recipe.id}.partial-${process.pid}-`));
  try {
    const pack = path.join(partial, "package");
    await store.archive(recipe.archives.tfjsNode, pack);
    await store.archive(recipe.archives.headers, path.join(partial, "headers"));
    await store.archive(recipe.archives.protobuf, path.join(pack, "node_modules", "google-protobuf"));
    await borrowCore(pack);
    await store.wheels(path.join(pack, "deps"));
    await strip(launch, path.join(pack, "deps", "lib"), say);
    say("compiling the binding");
    await mkdir(path.join(pack, "lib", "napi-v8"), { recursive: true });
    await launch(tools.compiler, compilation(pack, path.join(partial, "headers", "include")));
    say("checking");
    const { gpu } = await check(launch, partial);
    // Needed to compile only.
    await rm(path.join(pack, "deps", "include"), { recursive: true });
    await rm(path.join(partial, "headers"), { recursive: true });
    await writeFile(path.join(partial, readyFile), `${JSON.stringify({ id: recipe.id, gpu })}\n`);
    await rm(target, { recursive: true, force: true });
    await rename(partial, target);
    return gpu;
  } finally {
    await rm(partial, { recursive: true, force: true });
  }
}

/** tfjs-node asks for all of tfjs; what it uses of it is the core, and there must be one core in a process. */
async function borrowCore(pack: string): Promise<void> {
  for (const name of ["tfjs", "tfjs-core"]) {
    const folder = path.join(pack, "node_modules", "@tensorflow", name);
    await mkdir(folder, { recursive: true });
    await writeFile(
      path.join(folder, "index.js"),
      `module.exports = globalThis[Symbol.for(${JSON.stringify(coreSymbol)})];\n`,
    );
  }
}

/** Half a gigabyte of symbols that nobody reads. */
async function strip(launch: Run, folder: string, say: (line: string) => void): Promise<void> {
  for (const name of ["libtensorflow_cc.so.2", "libtensorflow_framework.so.2"]) {
    try {
      await launch("strip", ["--strip-unneeded", path.join(folder, name)]);
    } catch (error) {
      if (!(error instanceof CommandFailed)) throw error;
      say(`${name} keeps its symbols: ${error.message.split("\n")[0]}`);
    }
  }
  await symlink("libtensorflow_cc.so.2", path.join(folder, "libtensorflow.so"));
  await symlink("libtensorflow_framework.so.2", path.join(folder, "libtensorflow_framework.so"));
}

function compilation(pack: string, headers: string): string[] {
  return [
    ...["-O2", "-std=c++17", "-fPIC", "-shared", "-fno-exceptions", "-fno-rtti"],
    ...["-DNAPI_VERSION=8", "-DBUILDING_NODE_EXTENSION", "-DNODE_GYP_MODULE_NAME=tfjs_binding"],
    ...[`-I${pack}`, `-I${headers}`, `-I${path.join(pack, "deps", "include")}`],
    ...["tfjs_backend.cc", "tfjs_binding.cc"].map((name) => path.join(pack, "binding", name)),
    ...[`-L${path.join(pack, "deps", "lib")}`, "-ltensorflow", "-ltensorflow_framework"],
    "-Wl,-rpath,$ORIGIN/../../deps/lib",
    ...["-o", path.join(pack, "lib", "napi-v8", "tfjs_binding.node")],
  ];
}

async function check(launch: Run, folder: string): Promise<{ gpu: boolean }> {
  // The published package holds JavaScript.
  const script = fileURLToPath(new URL(import.meta.url.endsWith(".ts") ? "./check.ts" : "./check.js", import.meta.url));
  return JSON.parse(await launch(process.execPath, [script, folder])) as { gpu: boolean };
}
