import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import {
  type Checkpoint,
  CheckpointError,
  CheckpointFolder,
  checkpointName,
  checkpointVersion,
  readCheckpoint,
  writeCheckpoint,
} from "../../trainer/checkpoint.ts";

const identity = { backend: "cpu", layout: "w[3]", toolsDigest: "abc" };

function checkpoint(update = 7): Checkpoint {
  return {
    identity,
    update,
    best: 0.5,
    weights: Float32Array.from([1, NaN, -0, 1e-40]),
    optimiser: { step: 4, firstMoment: Float32Array.from([0.1]), secondMoment: new Float32Array() },
    state: { epoch: 2, text: "größer\nals" },
    arrays: { trail: Float32Array.from([5, 6]) },
  };
}

describe("a checkpoint", () => {
  let folder: string;
  let file: string;
  beforeEach(async () => {
    folder = await mkdtemp(path.join(tmpdir(), "trailgym-checkpoint-"));
    file = path.join(folder, "a.checkpoint");
  });
  afterEach(() => rm(folder, { recursive: true }));

  const problemOf = async (attempt: Promise<unknown>) => {
    const error = await attempt.then(
      () => undefined,
      (thrown: unknown) => thrown,
    );
    expect(error).toBeInstanceOf(CheckpointError);
    return (error as CheckpointError).problem;
  };

  test("comes back bit by bit", async () => {
    await writeCheckpoint(file, checkpoint());
    expect(await readCheckpoint(file, identity)).toEqual(checkpoint());
    const bits = (values: Float32Array) => [...new Uint32Array(values.buffer, 0, values.length)];
    expect(bits((await readCheckpoint(file)).weights)).toEqual(bits(checkpoint().weights));
  });

  test("of another version, backend, policy or tool list is a typed error that says so", async () => {
    await writeCheckpoint(file, checkpoint());
    expect(await problemOf(readCheckpoint(file, { ...identity, backend: "wasm" }))).toBe("OTHER_BACKEND");
    expect(await problemOf(readCheckpoint(file, { ...identity, layout: "w[4]" }))).toBe("OTHER_POLICY");
    expect(await problemOf(readCheckpoint(file, { ...identity, toolsDigest: "abd" }))).toBe("OTHER_TOOLS");
    const content = await readFile(file, "latin1");
    await writeFile(file, content.replace(`"version":${checkpointVersion}`, '"version":99'), "latin1");
    expect(await problemOf(readCheckpoint(file))).toBe("OTHER_VERSION");
    await expect(readCheckpoint(file)).rejects.toThrow(/version 99.*reads version 1/);
  });

  test("that is damaged or none at all is told from one that is whole", async () => {
    await writeCheckpoint(file, checkpoint());
    const content = await readFile(file);
    for (const damaged of [content.subarray(0, -1), Buffer.concat([content, Buffer.from("x")]), flipped(content)]) {
      await writeFile(file, damaged);
      expect(await problemOf(readCheckpoint(file))).toBe("CORRUPT");
    }
    for (const other of ["", "{}\n", "no json\n", "null\n", content.subarray(0, 20)]) {
      await writeFile(file, other);
      expect(await problemOf(readCheckpoint(file))).toBe("NOT_A_CHECKPOINT");
    }
  });

  test("that cannot be written leaves the one before, and nothing else", async () => {
    await writeCheckpoint(file, checkpoint(1));
    const circular: Record<string, unknown> = {};
    circular.self = circular;
    await expect(writeCheckpoint(file, { ...checkpoint(2), state: circular })).rejects.toThrow(TypeError);
    // A folder in the way of the temporary file's rename.
    const taken = path.join(folder, "taken.checkpoint", "inside");
    await writeCheckpoint(taken, checkpoint(1));
    await expect(writeCheckpoint(path.dirname(taken), checkpoint(2))).rejects.toThrow();
    expect((await readCheckpoint(file)).update).toBe(1);
    expect((await readdir(folder)).sort()).toEqual(["a.checkpoint", "taken.checkpoint"]);
  });

  test("folder keeps the last few and the best", async () => {
    const kept = new CheckpointFolder(path.join(folder, "run"), 2);
    expect(await problemOf(kept.latest())).toBe("NONE");
    await mkdir(kept.folder);
    await writeFile(path.join(kept.folder, ".update-00000007.checkpoint.1-aa.tmp"), "half");
    for (const update of [10, 20, 99_999_999, 100_000_000]) await kept.save(checkpoint(update), update === 20);
    expect((await readdir(kept.folder)).sort()).toEqual([
      "best.checkpoint",
      checkpointName(100_000_000),
      checkpointName(99_999_999),
    ]);
    expect((await kept.best()).update).toBe(20);
    expect((await kept.latest(identity)).update).toBe(100_000_000);
  });

  test("folder passes over a damaged one, but not over one that does not fit", async () => {
    const kept = new CheckpointFolder(folder, 3);
    await kept.save(checkpoint(1));
    const newest = await kept.save(checkpoint(2));
    await writeFile(newest, (await readFile(newest)).subarray(0, -2));
    expect((await kept.latest()).update).toBe(1);
    expect(await problemOf(kept.latest({ backend: "wasm" }))).toBe("OTHER_BACKEND");
  });
});

function flipped(content: Buffer): Buffer {
  const copy = Buffer.from(content);
  copy[copy.length - 3]! ^= 1;
  return copy;
}
