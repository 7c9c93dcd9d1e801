/** Which environments are there? Every `*.env.ts` and `*.env.js` under the given folders, files and packages. */

import { type Dirent } from "node:fs";
import { readdir, realpath, stat } from "node:fs/promises";
import path from "node:path";
import { pathToFileURL } from "node:url";
import type { AnyEnv } from "./define.ts";

export interface Found {
  /** Absolute, links resolved. */
  readonly file: string;
  /** Its default export; nothing else of the file is read. */
  readonly definition: AnyEnv;
}

export interface Discovered {
  /** In the order of the given paths; under one path by name. Ids are unique. */
  readonly found: readonly Found[];
  /** What could not be used. One bad file hides no other. */
  readonly problems: readonly DiscoveryProblem[];
}

/**
 * `notFound`: neither a path nor an installed package. `empty`: no `*.env.*` file under it. `notLoadable`: importing it
 * throws (`cause`). `notAnEnv`: its default export is none. `sameId`: an earlier file has the id, and keeps it.
 */
export type ProblemKind = "notFound" | "empty" | "notLoadable" | "notAnEnv" | "sameId";

export class DiscoveryProblem extends Error {
  override readonly name = "DiscoveryProblem";
  readonly kind: ProblemKind;
  /** The file, or what was asked for where there is no file. */
  readonly file: string;
  constructor(kind: ProblemKind, file: string, problem: string, options?: ErrorOptions) {
    super(`${file}: ${problem}`, options);
    this.kind = kind;
    this.file = file;
  }
}

/**
 * @param paths files, folders (searched through, `node_modules` and dot folders excepted) and names of npm packages that
 * are installed where `from` would find them. @param from what relative paths are relative to.
 */
export async function discover(paths: readonly string[], from = process.cwd()): Promise<Discovered> {
  const problems: DiscoveryProblem[] = [];
  const found = new Map<string, Found>();
  const seen = new Set<string>();
  for (const given of paths) {
    for (const file of await filesOf(given, from, problems)) {
      if (seen.has(file)) continue;
      seen.add(file);
      const definition = await load(file, problems);
      if (definition === undefined) continue;
      const earlier = found.get(definition.id);
      if (earlier === undefined) found.set(definition.id, { file, definition });
      else {
        const problem = `its id "${definition.id}" is that of ${earlier.file}: rename one, or point to only one of them`;
        problems.push(new DiscoveryProblem("sameId", file, problem));
      }
    }
  }
  return { found: [...found.values()], problems };
}

async function filesOf(given: string, from: string, problems: DiscoveryProblem[]): Promise<string[]> {
  const place = await locate(given, from);
  if (place === undefined) {
    const hint = isPackageName(given)
      ? "no such file or folder, and no such package is installed"
      : "no such file or folder";
    problems.push(new DiscoveryProblem("notFound", given, hint));
    return [];
  }
  if ((await stat(place.path)).isFile()) return [place.path];
  const files = await walk(place.path, place.isPackage ? /\.env\.js$/ : /\.env\.[jt]s$/, problems);
  if (files.length === 0) {
    const kind = place.isPackage ? "*.env.js file (Node strips no types from packages)" : "*.env.ts or *.env.js file";
    problems.push(new DiscoveryProblem("empty", given, `there is no ${kind} in it`));
  }
  return files;
}

async function locate(given: string, from: string): Promise<{ path: string; isPackage: boolean } | undefined> {
  const direct = await real(path.resolve(from, given));
  if (direct !== undefined) return { path: direct, isPackage: false };
  if (!isPackageName(given)) return undefined;
  for (let folder = path.resolve(from); ; folder = path.dirname(folder)) {
    const installed = await real(path.join(folder, "node_modules", given));
    if (installed !== undefined) return { path: installed, isPackage: true };
    if (folder === path.dirname(folder)) return undefined;
  }
}

function isPackageName(given: string): boolean {
  return /^(@[a-z0-9~-][a-z0-9._~-]*\/)?[a-z0-9~-][a-z0-9._~-]*$/.test(given);
}

async function real(file: string): Promise<string | undefined> {
  return realpath(file).catch(() => undefined);
}

/** Sorted, so that two machines find the same first. Linked folders are not entered: a link may lead back up. */
async function walk(folder: string, wanted: RegExp, problems: DiscoveryProblem[]): Promise<string[]> {
  let entries: Dirent[];
  try {
    entries = await readdir(folder, { withFileTypes: true });
  } catch (error) {
    problems.push(
      new DiscoveryProblem("notLoadable", folder, `cannot be read (${messageOf(error)})`, { cause: error }),
    );
    return [];
  }
  const names = new Set(entries.map(({ name }) => name));
  const files: string[] = [];
  for (const entry of entries.sort((a, b) => (a.name < b.name ? -1 : 1))) {
    const file = path.join(folder, entry.name);
    if (entry.isDirectory()) {
      if (entry.name !== "node_modules" && !entry.name.startsWith("."))
        files.push(...(await walk(file, wanted, problems)));
      continue;
    }
    // What a compiler wrote beside its source is the same environment.
    const compiled = wanted.test(entry.name.replace(/js$/, "ts")) && names.has(entry.name.replace(/js$/, "ts"));
    if (!wanted.test(entry.name) || (entry.name.endsWith("js") && compiled)) continue;
    const target = await real(file);
    if (target !== undefined && (await stat(target)).isFile()) files.push(target);
  }
  return files;
}

async function load(file: string, problems: DiscoveryProblem[]): Promise<AnyEnv | undefined> {
  let exported: unknown;
  try {
    const module = (await import(pathToFileURL(file).href)) as { default?: unknown };
    exported = module.default;
  } catch (error) {
    problems.push(new DiscoveryProblem("notLoadable", file, `does not load (${messageOf(error)})`, { cause: error }));
    return undefined;
  }
  const lacks = lacking(exported);
  if (lacks === undefined) return exported as AnyEnv;
  problems.push(new DiscoveryProblem("notAnEnv", file, `${lacks}: write \`export default defineEnv({ … })\``));
  return undefined;
}

/** What keeps a default export from being an environment; `checkEnv` looks closer. */
function lacking(exported: unknown): string | undefined {
  if (exported === undefined) return "it has no default export";
  if (typeof exported !== "object" || exported === null) return "its default export is no environment";
  const fields = exported as Record<string, unknown>;
  if (typeof fields.id !== "string") return "its default export has no id";
  const missing = ["reset", "step"].filter((key) => typeof fields[key] !== "function");
  return missing.length > 0 ? `its default export has no ${missing.join(" and no ")} function` : undefined;
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
