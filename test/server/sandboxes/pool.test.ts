/** Does the pool give everybody a turn, whatever the others do, and believe of a process only what it should? */

import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { type Job, Pool } from "../../../server/sandboxes/pool.ts";
import { isAlive } from "../../contracts/interpreter.ts";

function poolOf(size: number): Pool {
  return new Pool({
    language: "javascript",
    command: {
      file: fileURLToPath(new URL("../../resources/pretend-process.ts", import.meta.url)),
      nodeOptions: [],
      instance: "pool-test",
    },
    size,
    idleMs: 0,
    graceMs: 100,
    loadMs: 0,
    startMs: 20_000,
  });
}

interface Ask {
  owner?: string;
  program?: string;
  timeMs?: number;
  signal?: AbortSignal;
}

const never = new AbortController().signal;

function job(args: unknown[], { owner, program = "program", timeMs = 10_000, signal = never }: Ask = {}): Job {
  const limits = { timeMs, memoryMb: 64, outputBytes: 1_000, stateBytes: 1_000 };
  const head = { key: program, entry: "f", hasState: false, limits };
  return { head, text: { program: [program] }, args: JSON.stringify(args), state: undefined, signal, owner };
}

describe("calls that take long", () => {
  it("do not hold up the others: another process takes their place", async () => {
    await using pool = poolOf(1);
    await pool.run(job(["wait"], { owner: "b" }));
    const stop = new AbortController();
    let isOver = false;
    const long = pool.run(job(["wait", 9_000], { owner: "a", signal: stop.signal })).then(() => (isOver = true));
    for (let i = 0; i < 5; i++) expect(await pool.run(job(["wait"], { owner: "b" }))).toMatchObject({ status: "ok" });
    expect(isOver).toBe(false);
    expect(pool.pids).toHaveLength(2);
    stop.abort();
    await long;
  });

  it("are made at four times the size at most, and the processes that are too many end with them", async () => {
    await using pool = poolOf(1);
    const stop = new AbortController();
    const calls = Array.from({ length: 7 }, (_, i) =>
      pool.run(job(["wait", 9_000], { owner: `owner ${i}`, signal: stop.signal })),
    );
    await expect.poll(() => pool.pids.length, { timeout: 10_000 }).toBe(4);
    await new Promise((resolve) => setTimeout(resolve, 2_500));
    const pids = pool.pids;
    expect(pids).toHaveLength(4);
    stop.abort();
    expect(await Promise.all(calls)).toEqual(calls.map(() => ({ status: "timeout" })));
    // One that was still starting may be left: as many as stand ready.
    await expect.poll(() => pids.filter(isAlive).length, { timeout: 5_000 }).toBeLessThanOrEqual(1);
    expect(await pool.run(job(["wait"]))).toMatchObject({ status: "ok" });
    expect(pool.pids).toHaveLength(1);
  });

  it("leave nothing behind when they end by themselves: what is too many and idle ends", async () => {
    await using pool = poolOf(1);
    await Promise.all(["a", "b", "c"].map((owner) => pool.run(job(["wait", 1_500], { owner }))));
    expect(pool.pids.length).toBeGreaterThan(1);
    await expect.poll(() => pool.pids.length, { timeout: 10_000 }).toBe(1);
  });

  it("leave processes to callers that are quick, from the first call on", async () => {
    await using pool = poolOf(2);
    // Both are up when two calls have run at once.
    while (pool.pids.length < 2) {
      await Promise.all(["a", "b"].map((owner) => pool.run(job(["wait", 20], { owner }))));
    }
    const { pids } = pool;
    const stop = new AbortController();
    const loops = Array.from({ length: 3 }, (_, i) =>
      pool.run(job(["wait", 9_000], { owner: `loop ${i}`, signal: stop.signal })),
    );
    const first = await pool.run(job(["wait"], { owner: "a" }));
    // One of those that were there has been kept free: the call did not wait for another to start.
    expect(pids).toContain(first.status === "ok" && first.value);
    stop.abort();
    await Promise.all(loops);
  });
});

describe("callers", () => {
  it("take turns, and one that asks for much waits behind himself", async () => {
    await using pool = poolOf(1);
    const order: string[] = [];
    const run = (owner: string, n: number) => pool.run(job(["wait"], { owner })).then(() => order.push(`${owner}${n}`));
    // All of them wait for the first process to start.
    await Promise.all([run("a", 1), run("a", 2), run("a", 3), run("a", 4), run("b", 1), run("c", 1), run("b", 2)]);
    expect(order).toEqual(["a1", "b1", "c1", "a2", "b2", "a3", "a4"]);
  });
});

describe("a process", () => {
  it("is not killed for an answer that came in time, however late this one reads it", async () => {
    await using pool = poolOf(1);
    await pool.run(job(["wait"]));
    const [pid] = pool.pids;
    const outcome = pool.run(job(["wait", 200], { timeMs: 300 }));
    await new Promise((resolve) => setTimeout(resolve, 150));
    // From here the event loop goes to its timers first, and only then to what there is to read.
    await new Promise((resolve) => setImmediate(resolve));
    const stalled = performance.now() + 600;
    while (performance.now() < stalled);
    expect(await outcome).toMatchObject({ status: "ok" });
    expect(await pool.run(job(["wait"]))).toMatchObject({ status: "ok", value: pid });
  });

  it("is killed when no answer comes", async () => {
    await using pool = poolOf(1);
    expect(await pool.run(job(["wait", 9_000], { timeMs: 50 }))).toEqual({ status: "timeout" });
  });

  it("that others have been in is not believed when it says that a program needs too much memory", async () => {
    await using pool = poolOf(1);
    await pool.run(job(["wait"], { program: "another" }));
    const [pid] = pool.pids;
    expect(await pool.run(job(["need a process"]))).toMatchObject({
      status: "ok",
      value: expect.not.toSatisfy((value) => value === pid) as number,
    });
    await pool.run(job(["wait"], { program: "another" }));
    expect(await pool.run(job(["need too much"]))).toEqual({ status: "outOfMemory" });
    expect(await pool.run(job(["need too much"]))).toEqual({ status: "outOfMemory" });
  });

  it("that is given up while a call waits for it leaves the call nothing to wait for", async () => {
    await using pool = poolOf(1);
    await pool.run(job(["wait"], { program: "another" }));
    const [pid] = pool.pids;
    const stop = new AbortController();
    const outcome = pool.run(job(["need too much"], { signal: stop.signal }));
    // A process of its own has begun to start.
    await expect.poll(() => pool.pids[0], { interval: 1 }).not.toBe(pid);
    stop.abort();
    expect(await outcome).toEqual({ status: "timeout" });
    expect(await pool.run(job(["wait"]))).toMatchObject({ status: "ok" });
  });

  it("is asked again for a fresh call, or with the text, once", async () => {
    await using pool = poolOf(1);
    expect(await pool.run(job(["be fresh"]))).toMatchObject({ value: "fresh" });
    expect(await pool.run(job(["forget"]))).toMatchObject({ value: "told again" });
    expect(await pool.run(job(["never be fresh"]))).toMatchObject({ status: "crashed" });
    expect(await pool.run(job(["wait"]))).toMatchObject({ status: "ok" });
  });

  it("that is taken away takes a call along only the second time", async () => {
    await using pool = poolOf(1);
    await expect(pool.run(job(["die"]))).rejects.toMatchObject({ name: "SandboxLost" });
    expect(await pool.run(job(["wait"]))).toMatchObject({ status: "ok" });
  });
});
