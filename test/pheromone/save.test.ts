import fc from "fast-check";
import { canonicalJson, type Json } from "trailgym/protocol";
import { type Deposit, load, PheromoneError, PheromoneTable, save, START, statisticsOf } from "trailgym/pheromone";
import { describe, expect, test } from "vitest";
import { anyDeposit } from "./arbitrary.ts";

const config = { memory: { capacity: 2, decay: 0.8, forget: 0.25 }, roundSize: 3 };

function play(table: PheromoneTable, events: readonly (Deposit | "close")[]): PheromoneTable {
  for (const event of events) {
    if (event === "close") table.close();
    else table.offer(event);
  }
  return table;
}

const anyEvents = fc.array(
  fc.oneof({ weight: 5, arbitrary: anyDeposit }, { weight: 1, arbitrary: fc.constant("close" as const) }),
  {
    maxLength: 40,
  },
);

describe("a saved table", () => {
  test("loaded at any moment goes on as if nothing had happened: not one byte and not one answer differs", () => {
    fc.assert(
      fc.property(anyEvents, anyEvents, (before, after) => {
        const uninterrupted = play(new PheromoneTable(config), before);
        const text = save(uninterrupted);
        const loaded = load(text);
        expect(save(loaded)).toBe(text);
        play(uninterrupted, after);
        play(loaded, after);
        expect(save(loaded)).toBe(save(uninterrupted));
        expect(statisticsOf(loaded)).toEqual(statisticsOf(uninterrupted));
        const ask = (table: PheromoneTable) =>
          table.row({ from: "a", candidates: [..."abcd"], recall: table.recall([0.4, 0.3, 0.2]) });
        expect(ask(loaded)).toEqual(ask(uninterrupted));
      }),
      { numRuns: 300 },
    );
  });

  test("keeps every bit of a float", () => {
    const table = new PheromoneTable();
    table.round([{ tools: ["a"], quality: 0.1 + 0.2, deposit: true, remember: true, embedding: [1 / 3, Math.PI] }]);
    table.epoch = 1 / 3;
    const loaded = load(save(table));
    expect(loaded.tool.rows).toEqual(table.tool.rows);
    expect(loaded.tasks.row(0)).toEqual(table.tasks.row(0));
    expect(loaded.epoch).toBe(1 / 3);
    expect(loaded.options).toEqual(table.options);
  });

  test("keeps names of any kind", () => {
    const tools = ["__proto__", "constructor", "ключ", "a>b", '"', "\ud800", "$type"];
    const table = new PheromoneTable();
    table.round([{ tools, patterns: tools, quality: 1, deposit: true, remember: false }]);
    expect(save(load(save(table)))).toBe(save(table));
    expect(load(save(table)).tool.at(START, "__proto__")).toBe(table.tool.at(START, "__proto__"));
  });
});

describe("a text that is no table", () => {
  const table = new PheromoneTable({ roundSize: 2 });
  for (const embedding of [
    [1, 0],
    [0, 1],
    [1, 1],
  ]) {
    table.offer({ tools: ["a", "b"], quality: 0.7, deposit: true, remember: true, embedding });
  }
  const good = save(table);

  const problem = (text: string) => {
    try {
      load(text);
    } catch (error) {
      if (error instanceof PheromoneError) return { problem: error.problem, message: error.message };
      throw error;
    }
    return { problem: "none", message: "" };
  };
  /** With the checksum that belongs to it: what somebody would write who edits a file with care. `undefined` deletes. */
  const edited = (...edits: readonly [path: string, value: Json | undefined][]) => {
    const { body, ...envelope } = JSON.parse(good) as { body: Json };
    for (const [path, value] of edits) {
      const keys = path.split(".");
      const last = keys.pop()!;
      const parent = keys.reduce((part, key) => part[key] as Record<string, Json>, body as Record<string, Json>);
      if (value === undefined) delete parent[last];
      else parent[last] = value;
    }
    return canonicalJson({ ...envelope, body, crc32: crc32(canonicalJson(body)) });
  };

  test.each(["", "{}", "null", "[1]", "trail", '{"format":"trailgym-checkpoint","version":1}'])(
    "is refused: %s",
    (text) => {
      expect(problem(text)).toEqual({ problem: "NOT_A_TRAIL", message: expect.stringContaining("`save`") as string });
    },
  );

  test("is refused when another version wrote it, with what to do", () => {
    const other = (version: number) => problem(good.replace(/"version":1\}$/, `"version":${version}}`));
    expect(other(2)).toMatchObject({
      problem: "OTHER_VERSION",
      message: expect.stringMatching(/update TrailGym/) as string,
    });
    expect(other(0)).toMatchObject({
      problem: "OTHER_VERSION",
      message: expect.stringMatching(/that wrote it/) as string,
    });
  });

  test("is refused wherever it is cut", () => {
    for (let end = 10; end < good.length; end += 97) expect(problem(good.slice(0, end)).problem).toBe("CORRUPT");
  });

  test("is refused whichever of its characters was changed", () => {
    for (let at = 0; at < good.length; at++) {
      const text = good.slice(0, at) + (good[at] === "1" ? "2" : "1") + good.slice(at + 1);
      expect(problem(text).problem, `${at}: ${text.slice(at - 5, at + 5)}`).not.toBe("none");
    }
  });

  test("is refused when only the upper half of a character was changed", () => {
    const table = new PheromoneTable();
    table.round([{ tools: ["\u043a"], quality: 1, deposit: true, remember: false }]);
    expect(problem(save(table).replaceAll("\u043a", "\u023a")).problem).toBe("CORRUPT");
  });

  test("is refused when its parts contradict each other, though its checksum is right", () => {
    expect(problem(edited()).problem).toBe("none");
    const uint32 = (...values: number[]) => ndarray(values, "uint32");
    const edits: [string, Json | undefined][][] = [
      [["rounds", 0]],
      [["tool.names", ["", "a"]]],
      [["tool.to.shape", [3]]],
      // One edge twice.
      [
        ["tool.from", uint32(0, 0)],
        ["tool.to", uint32(1, 1)],
      ],
      [["tool.tau", ndarray([0.1, 1])]],
      [["tool.tau", ndarray([NaN, 1])]],
      [["tool.tau", ndarray([1])]],
      [["tool.memoryTask", uint32(0, 0, 0, 1)]],
      [["tool.memoryTask", uint32(0, 1, 0, 5)]],
      [["tool.memoryTask", uint32(0, 0, 0, 0)]],
      [["tool.memorySize", uint32(2, 1)]],
      [["tool.memorySize", uint32(2, 3)]],
      [["tool.memoryQuality", ndarray([0.7, 0.7, 0.7, 7])]],
      [["tasks.free", uint32(1)]],
      [["tasks.rows", ndarray([1, 0, NaN, 1])]],
      // A memory of a task that is free.
      [
        ["tasks.size", 3],
        ["tasks.free", uint32(2)],
        ["tool.memoryTask", uint32(0, 1, 0, 2)],
      ],
      [["tasks.size", 3]],
      [["options.min", 30]],
      [["pending.0.quality", 2]],
      [["pending.0.embedding", ndarray([1])]],
      [["pending.0.embedding", ndarray([1, NaN])]],
      [["more", 1]],
      [["counts", undefined]],
      [["tool", []]],
    ];
    for (const each of edits) expect(problem(edited(...each)).problem, JSON.stringify(each)).toBe("CORRUPT");
  });
});

function ndarray(values: number[], dtype: "float64" | "uint32" = "float64") {
  const data = dtype === "float64" ? Float64Array.from(values) : Uint32Array.from(values);
  return { $type: "ndarray", dtype, shape: [values.length], base64: Buffer.from(data.buffer).toString("base64") };
}

/** Bit by bit, as the standard has it. */
function crc32(text: string): number {
  let crc = 0xffffffff;
  for (const byte of Buffer.from(text, "utf16le")) {
    crc ^= byte;
    for (let bit = 0; bit < 8; bit++) crc = (crc >>> 1) ^ (crc & 1 ? 0xedb88320 : 0);
  }
  return (crc ^ 0xffffffff) >>> 0;
}
