/** Which dataset folders are there, and which environment is each one for? */

import { readdir, readFile, stat } from "node:fs/promises";
import { join, relative, resolve, sep } from "node:path";
import type { TaskFiles } from "trailgym/env";
import { Failure } from "../terminal/failure.ts";

export interface Dataset {
  /** The id of the environment, as `dataset.json` names it. */
  readonly env: string;
  readonly folder: string;
  readonly files: TaskFiles;
}

const HEAD = "dataset.json";

/** @param folder one dataset, or a folder of datasets. @throws Failure that names what is missing. */
export async function findDatasets(folder: string): Promise<Dataset[]> {
  const path = resolve(folder);
  const found = (await stat(path).catch(() => undefined))?.isDirectory();
  if (found !== true) throw new Failure(`${folder}: no such folder`);
  if (await exists(join(path, HEAD))) return [await readDataset(path)];
  const entries = await readdir(path, { withFileTypes: true });
  const inside = entries.filter((entry) => entry.isDirectory()).map(({ name }) => join(path, name));
  const heads = await Promise.all(inside.map((one) => exists(join(one, HEAD))));
  const datasets = inside.filter((_, i) => heads[i]).sort();
  if (datasets.length === 0) {
    throw new Failure(`${folder}: no ${HEAD} in it or one folder below; \`trailgym import\` makes dataset folders`);
  }
  return Promise.all(datasets.map(readDataset));
}

async function readDataset(folder: string): Promise<Dataset> {
  const name = relative(process.cwd(), folder) || ".";
  const path = join(name, HEAD);
  let head: unknown;
  try {
    head = JSON.parse(await readFile(join(folder, HEAD), "utf8"));
  } catch (error) {
    throw new Failure(`${path}: ${(error as Error).message}`, { cause: error });
  }
  const env = (head as { env?: unknown } | null)?.env;
  if (typeof env !== "string") throw new Failure(`${path}: "env" must name the environment that the tasks are for`);
  return { env, folder, files: taskFiles(folder, name) };
}

/** Read-only, and nothing outside of the folder. */
export function taskFiles(folder: string, name: string): TaskFiles {
  return {
    name,
    async list() {
      const entries = await readdir(folder, { recursive: true, withFileTypes: true });
      const files = entries.filter((entry) => !entry.isDirectory());
      const paths = files.map((entry) => relative(folder, join(entry.parentPath, entry.name)));
      return paths.map((path) => path.split(sep).join("/")).sort();
    },
    read(path) {
      const full = resolve(folder, path);
      if (!full.startsWith(folder + sep)) return Promise.reject(new Error(`${path} is outside of the dataset`));
      return readFile(full);
    },
  };
}

function exists(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  );
}
