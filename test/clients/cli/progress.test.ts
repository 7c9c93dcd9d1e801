import { writeFile } from "node:fs/promises";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { importCodeGymFiles } from "../../../clients/cli/import.ts";
import type { Io } from "../../../clients/cli/terminal/io.ts";
import { startProgress } from "../../../clients/cli/terminal/progress.ts";
import { tempFolder } from "./command.ts";

function terminal(isTTY: boolean) {
  const shown = { text: "" };
  const write = (chunk: string) => ((shown.text += chunk), true);
  const stderr = { isTTY, columns: 120, write, cursorTo: () => true, clearLine: () => true, moveCursor: () => true };
  return { io: { stderr } as unknown as Io, shown };
}

beforeEach(() => void vi.useFakeTimers({ toFake: ["performance", "setTimeout", "clearTimeout", "Date"] }));
afterEach(() => void vi.useRealTimers());

describe("progress on a terminal", () => {
  test("is a bar with count, what is left and news, once a second has passed, and is gone at the end", async () => {
    const { io, shown } = terminal(true);
    const progress = await startProgress(io, "checking", 4, { done: 1 });
    progress.advance("one");
    vi.advanceTimersByTime(900);
    expect(shown.text).toBe("");
    vi.advanceTimersByTime(200);
    expect(shown.text).toMatch(/checking █+░+ 2\/4 · \S+ left · one/);
    progress.advance("two");
    vi.advanceTimersByTime(500);
    expect(shown.text).toMatch(/3\/4 · \S+ left · two/);
    progress.stop();
    const { length } = shown.text;
    vi.advanceTimersByTime(5_000);
    expect(shown.text).toHaveLength(length);
  });

  test("shows nothing of what is done in a moment", async () => {
    const { io, shown } = terminal(true);
    const progress = await startProgress(io, "checking", 2);
    progress.advance();
    progress.advance();
    progress.stop();
    vi.advanceTimersByTime(5_000);
    expect(shown.text).toBe("");
  });
});

describe("progress elsewhere", () => {
  test("is a line for each tenth, and one every ten seconds, once a second has passed", async () => {
    const { io, shown } = terminal(false);
    const progress = await startProgress(io, "eval", 1_000);
    for (let i = 0; i < 100; i++) progress.advance();
    expect(shown.text).toBe("");
    vi.advanceTimersByTime(1_500);
    progress.advance("3 solved");
    expect(shown.text).toBe("eval: 101 of 1000 · 3 solved\n");
    progress.advance();
    vi.advanceTimersByTime(10_000);
    progress.advance();
    expect(shown.text).toBe("eval: 101 of 1000 · 3 solved\neval: 103 of 1000\n");
    progress.advance(undefined, 97);
    expect(shown.text).toMatch(/eval: 200 of 1000\n$/);
  });

  test("is a share of a hundred where what is counted is of no interest", async () => {
    const { io, shown } = terminal(false);
    const progress = await startProgress(io, "importing", 4_000_000, { percent: true });
    vi.advanceTimersByTime(1_500);
    progress.advance(undefined, 1_000_000);
    expect(shown.text).toBe("importing: 25 %\n");
  });

  test("of an import is told by the bytes that it has read, of each file once", async () => {
    await using folder = await tempFolder();
    const files = ["a", "b", "c", "d"].map((name) => folder.join(`${name}.jsonl`));
    for (const file of files) await writeFile(file, "{}\n".repeat(1_000));
    const { io, shown } = terminal(false);
    // Where it would stop, time passes.
    const signal = { throwIfAborted: () => vi.advanceTimersByTime(1_500) };
    await importCodeGymFiles({ ...io, stdout: { write: () => true }, signal } as unknown as Io, files, {
      out: folder.join("out"),
      split: "train",
      strict: false,
    });
    // Each file is looked into, and the same bytes are then read as rows.
    expect(shown.text.split("\n").filter((line) => line.startsWith("importing"))).toEqual(["importing: 100 %"]);
  });
});
