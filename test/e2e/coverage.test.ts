/** Every promise has a test, and every test that names a promise names one that was made. */

import { globSync, readFileSync } from "node:fs";
import ts from "typescript";
import { expect, test } from "vitest";
import type { Requirement } from "./requirement.ts";
import { groups, requirements } from "./requirements.ts";

const root = new URL("../", import.meta.url).pathname;
const all: [id: string, requirement: Requirement][] = Object.entries(requirements);

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

/** Of the tests in a file: `test("…")`, `it.each(…)("…")` and the like, `def test_…`; none that is skipped or still to do. */
function titlesOf(file: string): Set<string> {
  if (file.endsWith(".py")) {
    const text = readFileSync(`${root}/${file}`, "utf8");
    return new Set(Array.from(text.matchAll(/^(?:async )?def (test_\w+)/gm), ([, name = ""]) => name));
  }
  const source = ts.createSourceFile(file, readFileSync(`${root}/${file}`, "utf8"), ts.ScriptTarget.Latest, true);
  const titles = new Set<string>();
  const visit = (node: ts.Node): void => {
    if (ts.isCallExpression(node)) {
      const [title] = node.arguments;
      const chain = chainOf(node.expression);
      const runs = /^(test|it)\b/.test(chain) && !/\.(skip|todo|fails)\b/.test(chain);
      if (runs && title !== undefined && ts.isStringLiteralLike(title)) titles.add(title.text);
    }
    ts.forEachChild(node, visit);
  };
  visit(source);
  return titles;
}

/** `it.concurrent.each(…)` is "it.concurrent.each". */
function chainOf(callee: ts.Expression): string {
  if (ts.isCallExpression(callee)) return chainOf(callee.expression);
  if (ts.isPropertyAccessExpression(callee)) return `${chainOf(callee.expression)}.${callee.name.text}`;
  return ts.isIdentifier(callee) ? callee.text : "";
}

test("every requirement is held by a test", () => {
  const cited = citations();
  const held = ([id, { tests = [] }]: (typeof all)[number]) => cited.has(id) || tests.length > 0;
  expect(all.filter((each) => !held(each)).map(([id]) => id)).toEqual([]);
});

test("the tests that a requirement names are there, and run", () => {
  const files = new Map<string, Set<string>>();
  const missing = all.flatMap(([id, { tests = [] }]) =>
    tests.flatMap(([file, title]) => {
      const titles = files.get(file) ?? titlesOf(file);
      files.set(file, titles);
      return titles.has(title) ? [] : [`${id}: ${file} has no test "${title}"`];
    }),
  );
  expect(missing).toEqual([]);
  expect(files.size).toBeGreaterThan(20);
});

test("no test holds a requirement that is not in the list", () => {
  expect([...citations().keys()].filter((id) => !Object.hasOwn(requirements, id))).toEqual([]);
});

test("an id is used once", () => {
  const ids = Object.values(groups).flatMap((group) => Object.keys(group));
  expect(ids.filter((id, i) => ids.indexOf(id) < i)).toEqual([]);
});

test("requirements are sentences that say one thing each, and say where it was promised", () => {
  const promises = all.map(([, { promise }]) => promise);
  expect(new Set(promises).size).toBe(promises.length);
  for (const [, { promise, source }] of all) {
    expect(promise.length, promise).toBeLessThan(130);
    expect(source).toMatch(/wire\.md|architecture\.md §\d|codegym\.md A\d|issue \d|complaints? (#\d|\d\.\d|E\.\d)/);
  }
});
