import { expect, test } from "vitest";
import { closest } from "../../server/closest.ts";

test("names within a third of their length in edits are offered, nearest first, at most three", () => {
  const names = ["env/step", "env/reset", "env/make", "env/list", "session/list"];
  expect(closest("env/stpe", names)[0]).toBe("env/step");
  expect(closest("env/rset", names)[0]).toBe("env/reset");
  expect(closest("pheromone/deposit", names)).toEqual([]);
  expect(closest("", names)).toEqual([]);
  expect(closest("env/", ["env/a", "env/b", "env/c", "env/d"])).toEqual(["env/a", "env/b", "env/c"]);
});
