/** CPython's memory is kept from one process to the next, and no program can tell. */

import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { createInterpreters } from "../../../../server/sandboxes/interpreters.ts";
import { makeSnapshot } from "../../../../server/sandboxes/pyodide/host.ts";
import { readSnapshot, snapshotFile, writeSnapshot } from "../../../../server/sandboxes/pyodide/snapshot.ts";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "trailgym-snapshot-"));
  vi.stubEnv("XDG_CACHE_HOME", folder);
});
afterEach(() => {
  vi.unstubAllEnvs();
  rmSync(folder, { recursive: true, force: true });
});

describe("a file", () => {
  const snapshot = Buffer.from("all that CPython is");

  it("holds what was written, and is not read when it holds anything else", () => {
    const file = snapshotFile();
    expect(readSnapshot(file)).toBeUndefined();
    writeSnapshot(file, snapshot);
    expect(Buffer.from(readSnapshot(file)!)).toEqual(snapshot);
    const whole = readFileSync(file);
    for (const broken of [whole.subarray(0, -1), Buffer.concat([whole, whole]), Buffer.alloc(0), Buffer.alloc(40)]) {
      writeFileSync(file, broken);
      expect(readSnapshot(file)).toBeUndefined();
    }
  });

  it("is alone, but for those of other versions that may still be in use", () => {
    const file = snapshotFile();
    writeSnapshot(file, snapshot);
    const [recent, old] = ["a", "b"].map((name) => file.replace(/[0-9a-f]{32}/, name)) as [string, string];
    for (const other of [recent, old]) writeSnapshot(other, snapshot);
    utimesSync(old, 0, 0);
    writeSnapshot(file, snapshot);
    expect(readdirSync(join(folder, "trailgym")).toSorted()).toEqual(
      [recent, file].map((path) => path.split("/").at(-1)).toSorted(),
    );
  });

  it("that cannot be written is an error, and nothing stays", () => {
    writeFileSync(join(folder, "trailgym"), "no folder");
    expect(() => writeSnapshot(snapshotFile(), snapshot)).toThrow(/ENOTDIR|EEXIST/);
    expect(readdirSync(folder)).toEqual(["trailgym"]);
  });
});

it(
  "has the same bytes whoever makes it, so that a program runs alike with and without",
  { timeout: 60_000 },
  async () => {
    const file = snapshotFile();
    await using interpreters = createInterpreters({ processes: 1 });
    const program = ["def f(state): return [[id(object()), repr({object(), object()})], state]"];
    const call = () => interpreters.interpreter("python").call({ program, entry: "f" }, AbortSignal.timeout(30_000));
    const without = await call();
    await vi.waitFor(() => expect(existsSync(file)).toBe(true), { timeout: 30_000, interval: 50 });
    expect(Buffer.compare(readSnapshot(file)!, await makeSnapshot())).toBe(0);
    process.kill(interpreters.pids("python")[0]!, "SIGKILL");
    expect(await call()).toEqual(without);
    expect(without).toMatchObject({ status: "ok" });
  },
);
