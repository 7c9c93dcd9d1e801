/** Every promise has a test, and every test that names a promise names one that was made. */

import { globSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { requirements } from "./requirements.ts";

const root = new URL("../", import.meta.url).pathname;

/** The ids that the tests' sources cite, each with the files that do. */
function citations(): Map<string, string[]> {
  const cited = new Map<string, string[]>();
  for (const file of globSync("**/*.test.ts", { cwd: root })) {
    const source = readFileSync(`${root}/${file}`, "utf8");
    for (const [, list = ""] of source.matchAll(/^\s*verifies\(\s*(\[[^\]]*\]|"[^"]*")/gm)) {
      for (const [, id = ""] of list.matchAll(/"([^"]*)"/g)) cited.set(id, [...(cited.get(id) ?? []), file]);
    }
  }
  return cited;
}

test("every requirement is held by a test", () => {
  const cited = citations();
  expect(Object.keys(requirements).filter((id) => !cited.has(id))).toEqual([]);
});

test("no test holds a requirement that is not in the list", () => {
  expect([...citations().keys()].filter((id) => !Object.hasOwn(requirements, id))).toEqual([]);
});

test("requirements are sentences that say one thing each, and say where it was promised", () => {
  const promises = Object.values(requirements).map(({ promise }) => promise);
  expect(new Set(promises).size).toBe(promises.length);
  for (const { promise, source } of Object.values(requirements)) {
    expect(promise.length).toBeLessThan(130);
    expect(source).toMatch(/wire\.md|architecture\.md §\d|issue \d|complaints? (#\d|\d\.\d)/);
  }
});
