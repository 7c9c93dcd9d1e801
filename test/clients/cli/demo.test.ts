import { describe, expect, test } from "vitest";
import type { Row } from "../../../clients/cli/demo/scene.ts";
import { start, trailgym } from "./command.ts";

describe("trailgym demo", () => {
  test("plays every family of tasks and shows what happens when something goes wrong, in less than two minutes", async () => {
    const began = performance.now();
    const [demo, list] = await Promise.all([trailgym(["demo", "--json"]), trailgym(["list", "--json"])]);
    expect(performance.now() - began).toBeLessThan(120_000);
    const rows = JSON.parse(demo.stdout) as Row[];
    const envs = JSON.parse(list.stdout) as { id: string; families: string[] }[];
    expect(rows.filter(({ ok }) => !ok)).toEqual([]);
    expect(demo.code).toBe(0);
    const solved = rows.filter(({ shown }) => shown.startsWith("the reference solves it"));
    for (const { id, families } of envs) {
      expect(solved.map(({ env }) => env)).toContain(id);
      const played = solved.filter(({ env }) => env === id).map(({ family }) => family);
      expect(played).toEqual(expect.arrayContaining(families));
    }
    for (const { env, return: value } of solved) {
      // Where a task is solved or not, 1 is solved; elsewhere the row says that it is what its reference promises.
      if (env === "countdown-v1" || env === "code-gym-v1") expect(value).toBe(1);
      else expect(value).toBeGreaterThan(0);
    }
    const others = rows.filter((row) => !solved.includes(row));
    const returns = others.map(({ shown, return: value }) => [shown, value] as const);
    const row = (about: RegExp) => returns.filter(([shown]) => about.test(shown)).map(([, value]) => value);
    expect(row(/refused, nothing is consumed/)).toEqual([1]);
    expect(row(/unknown tool/)).toEqual([0]);
    expect(row(/forked after \d+ steps/)).toEqual([1]);
    expect(row(/the other copy/)).toEqual([0]);
    expect(row(/never returns is killed after \d+ ms/)).toEqual([1]);
  }, 150_000);

  test("ends on Ctrl-C, and does not wait for the step that runs", async () => {
    await using demo = start(["demo"]);
    await new Promise<void>((resolve) => demo.child.stderr.once("data", () => resolve()));
    // Two Python and JavaScript programs are starting now.
    await new Promise((resolve) => setTimeout(resolve, 300));
    const began = performance.now();
    demo.child.kill("SIGINT");
    expect(await demo.ended).toMatchObject({ code: 130, stdout: "" });
    expect(performance.now() - began).toBeLessThan(1_500);
  });
});
