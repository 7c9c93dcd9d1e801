/**
 * What is kept of a run, so that it goes on as if it had never stopped? One file: a line of JSON that says what it is and what
 * follows, then the arrays as little-endian bytes. Written beside its place, synced and renamed: there is never half of one.
 */

import { createHash, randomBytes } from "node:crypto";
import { copyFile, mkdir, open, readdir, readFile, rename, rm, unlink } from "node:fs/promises";
import path from "node:path";

/** Raised when older files cannot be read any more. */
export const checkpointVersion = 1;

/** What the reader has to agree with. */
export interface CheckpointIdentity {
  /** Bit-equal continuation needs the same one. */
  backend: string;
  /** `Layout.signature`. */
  layout: string;
  /** Of the tool list: a known tool's vector belongs to its place. Empty: the policy has none. */
  toolsDigest: string;
}

export interface Checkpoint {
  identity: CheckpointIdentity;
  /** Updates made. */
  update: number;
  /** Best evaluation so far; absent: none yet. */
  best?: number;
  weights: Float32Array;
  optimiser: { step: number; firstMoment: Float32Array; secondMoment: Float32Array };
  /** Counters of schedules, task cursor, curriculum stage, text encoder, trail, config, versions: any JSON. */
  state: unknown;
  /** More arrays, by name. */
  arrays?: Record<string, Float32Array>;
}

export type CheckpointProblem =
  "NOT_A_CHECKPOINT" | "CORRUPT" | "OTHER_VERSION" | "OTHER_BACKEND" | "OTHER_POLICY" | "OTHER_TOOLS" | "NONE";

export class CheckpointError extends Error {
  override readonly name = "CheckpointError";
  readonly problem: CheckpointProblem;
  readonly file: string;
  constructor(problem: CheckpointProblem, file: string, message: string) {
    super(`${file} ${message}`);
    this.problem = problem;
    this.file = file;
  }
}

interface Header {
  format: "trailgym-checkpoint";
  version: number;
  identity: CheckpointIdentity;
  update: number;
  best?: number;
  step: number;
  state: unknown;
  arrays: { name: string; length: number }[];
  /** SHA-256 of the bytes that follow the header. */
  sha256: string;
}

/** @throws Error of the file system, with nothing left where `file` is but what was there before. */
export async function writeCheckpoint(file: string, checkpoint: Checkpoint): Promise<void> {
  const { identity, update, best, weights, optimiser, state, arrays = {} } = checkpoint;
  const named: [string, Float32Array][] = [
    ["weights", weights],
    ["firstMoment", optimiser.firstMoment],
    ["secondMoment", optimiser.secondMoment],
    ...Object.entries(arrays).map(([name, values]): [string, Float32Array] => [`arrays/${name}`, values]),
  ];
  const body = Buffer.concat(named.map(([, values]) => bytesOf(values)));
  const header: Header = {
    format: "trailgym-checkpoint",
    version: checkpointVersion,
    identity,
    update,
    ...(best === undefined ? {} : { best }),
    step: optimiser.step,
    state,
    arrays: named.map(([name, values]) => ({ name, length: values.length })),
    sha256: createHash("sha256").update(body).digest("hex"),
  };
  await replaceFile(file, Buffer.concat([Buffer.from(`${JSON.stringify(header)}\n`), body]));
}

/**
 * @param expected what must agree; leave out what need not, as an evaluation on another backend does.
 * @throws CheckpointError that says what is wrong and what to do. @throws Error of the file system
 */
export async function readCheckpoint(file: string, expected: Partial<CheckpointIdentity> = {}): Promise<Checkpoint> {
  const content = await readFile(file);
  const end = content.indexOf(0x0a);
  const header = parseHeader(end < 0 ? "" : content.toString("utf8", 0, end));
  if (header === undefined) throw new CheckpointError("NOT_A_CHECKPOINT", file, "is no checkpoint");
  if (header.version !== checkpointVersion) {
    throw new CheckpointError(
      "OTHER_VERSION",
      file,
      `is of version ${header.version}; this TrailGym reads version ${checkpointVersion}`,
    );
  }
  const body = content.subarray(end + 1);
  if (createHash("sha256").update(body).digest("hex") !== header.sha256) {
    throw new CheckpointError("CORRUPT", file, "is damaged: its bytes are not those that were written");
  }
  agree(file, header.identity, expected);
  const arrays = new Map<string, Float32Array>();
  let at = 0;
  for (const { name, length } of header.arrays) {
    // A copy: the body need not lie on a multiple of four.
    arrays.set(name, new Float32Array(Uint8Array.from(body.subarray(at, at + 4 * length)).buffer));
    at += 4 * length;
  }
  const take = (name: string) => arrays.get(name) ?? new Float32Array();
  const others = [...arrays].filter(([name]) => name.startsWith("arrays/"));
  return {
    identity: header.identity,
    update: header.update,
    ...(header.best === undefined ? {} : { best: header.best }),
    weights: take("weights"),
    optimiser: { step: header.step, firstMoment: take("firstMoment"), secondMoment: take("secondMoment") },
    state: header.state,
    arrays: Object.fromEntries(others.map(([name, values]) => [name.slice("arrays/".length), values])),
  };
}

function parseHeader(line: string): Header | undefined {
  try {
    const header = JSON.parse(line) as Header | null;
    return header?.format === "trailgym-checkpoint" ? header : undefined;
  } catch {
    return undefined;
  }
}

function agree(file: string, found: CheckpointIdentity, expected: Partial<CheckpointIdentity>): void {
  const differs = (key: keyof CheckpointIdentity) => expected[key] !== undefined && expected[key] !== found[key];
  if (differs("layout")) {
    throw new CheckpointError("OTHER_POLICY", file, "holds another policy: its parameters have other names or shapes");
  }
  if (differs("toolsDigest")) {
    throw new CheckpointError(
      "OTHER_TOOLS",
      file,
      "was trained with another list of tools; train anew, or use that list",
    );
  }
  if (differs("backend")) {
    throw new CheckpointError(
      "OTHER_BACKEND",
      file,
      `was trained on the backend ${found.backend}, this is ${expected.backend}: it would not go on bit by bit`,
    );
  }
}

function bytesOf(values: Float32Array): Uint8Array {
  return new Uint8Array(values.buffer, values.byteOffset, values.byteLength);
}

/** All of it or nothing, also when the power fails: temporary file, fsync, rename, fsync of the folder. */
async function replaceFile(file: string, content: Uint8Array): Promise<void> {
  const folder = path.dirname(file);
  await mkdir(folder, { recursive: true });
  const temporary = path.join(folder, `.${path.basename(file)}.${process.pid}-${randomBytes(4).toString("hex")}.tmp`);
  try {
    {
      await using handle = await open(temporary, "w");
      await handle.writeFile(content);
      await handle.sync();
    }
    await rename(temporary, file);
  } catch (error) {
    await rm(temporary, { force: true });
    throw error;
  }
  await using directory = await open(folder, "r");
  await directory.sync();
}

const pattern = /^update-(\d+)\.checkpoint$/;
export const bestName = "best.checkpoint";

export function checkpointName(update: number): string {
  return `update-${String(update).padStart(8, "0")}.checkpoint`;
}

/** A run's folder of checkpoints: the last few, and the best. */
export class CheckpointFolder {
  readonly folder: string;
  readonly keep: number;

  /** @param keep how many of the last stay, ≥ 1; the best is beside them. */
  constructor(folder: string, keep = 3) {
    this.folder = folder;
    this.keep = Math.max(1, keep);
  }

  /** Writes it, then forgets what is too old. @param isBest also keeps it as the best. @returns its file */
  async save(checkpoint: Checkpoint, isBest = false): Promise<string> {
    const file = path.join(this.folder, checkpointName(checkpoint.update));
    await this.#sweep();
    await writeCheckpoint(file, checkpoint);
    if (isBest) {
      // Through a file of its own, so that a best that is half copied never stands in for one.
      const temporary = path.join(this.folder, `.${bestName}.${process.pid}.tmp`);
      await copyFile(file, temporary);
      await rename(temporary, path.join(this.folder, bestName));
    }
    const names = await this.#names();
    for (const name of names.slice(0, -this.keep)) await unlink(path.join(this.folder, name));
    return file;
  }

  /** The newest that can be read: one that is damaged is passed over. @throws CheckpointError `NONE`, or why the newest does not fit */
  async latest(expected: Partial<CheckpointIdentity> = {}): Promise<Checkpoint> {
    for (const name of (await this.#names()).reverse()) {
      try {
        return await readCheckpoint(path.join(this.folder, name), expected);
      } catch (error) {
        const damaged = error instanceof CheckpointError && ["CORRUPT", "NOT_A_CHECKPOINT"].includes(error.problem);
        if (!damaged) throw error;
      }
    }
    throw new CheckpointError("NONE", this.folder, "holds no checkpoint that can be read");
  }

  /** @throws CheckpointError, Error of the file system */
  async best(expected: Partial<CheckpointIdentity> = {}): Promise<Checkpoint> {
    return readCheckpoint(path.join(this.folder, bestName), expected);
  }

  /** What a run that was killed while it wrote left behind. A folder belongs to one run. */
  async #sweep(): Promise<void> {
    for (const name of await this.#all()) {
      if (/^\.(update-|best).*\.tmp$/.test(name)) await rm(path.join(this.folder, name), { force: true });
    }
  }

  /** Oldest first. */
  async #names(): Promise<string[]> {
    const updateOf = (name: string) => Number(pattern.exec(name)?.[1]);
    return (await this.#all()).filter((name) => pattern.test(name)).sort((a, b) => updateOf(a) - updateOf(b));
  }

  async #all(): Promise<string[]> {
    try {
      return await readdir(this.folder);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === "ENOENT") return [];
      throw error;
    }
  }
}
