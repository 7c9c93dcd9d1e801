import { readFile } from "node:fs/promises";
import { describe, expect, test } from "vitest";
import { type Report, reportOf, tableOf } from "../../../clients/cli/bench/report.ts";
import { tempFolder, trailgym } from "./command.ts";

describe("trailgym bench", () => {
  test("measures, says on which machine, and whether each aim was met, for a person and in a file", async () => {
    await using folder = await tempFolder();
    const file = folder.join("bench.json");
    const { code, stdout, stderr } = await trailgym(["bench", "--only", "footprint", "--out", file]);
    expect(code).toBe(0);
    expect(stderr).toMatch(/^measuring: 2 of 2 · idle sessions$/m);
    const { machine, rows } = JSON.parse(await readFile(file, "utf8")) as Report;
    expect(machine).toMatchObject({ node: process.version, cores: expect.any(Number) as number });
    expect(rows.length).toBeGreaterThan(0);
    for (const { name, value, aim, met } of rows) {
      expect(value).toBeGreaterThan(0);
      expect(met, name).toBe(value <= (aim as number));
      expect(stdout).toContain(name);
    }
  }, 60_000);

  test("shows what a figure was held against in the same run", () => {
    const common = { section: "wire", unit: "steps/s", against: "bare ws echo 20000/s" };
    const table = tableOf(
      reportOf([
        { ...common, name: "one socket", value: 12_345.6, ratio: 0.617, aim: 0.5, met: true },
        { ...common, name: "a socket each", value: 4_000, ratio: 0.2, aim: 0.5, met: false, detail: "p99 9 ms" },
      ]),
    );
    expect(table).toMatch(/one socket +12,346 steps\/s +× 0\.62, aim 0\.5 met +bare ws echo 20000\/s\n/);
    expect(table).toMatch(/a socket each +4,000 steps\/s +× 0\.20, aim 0\.5 missed .*\n +p99 9 ms\n/);
  });

  test("knows its sections", async () => {
    const { code, stderr } = await trailgym(["bench", "--only", "speed"]);
    expect(code).toBe(2);
    expect(stderr).toMatch(/no section "speed"; there are wire, steps, footprint/);
  });
});
