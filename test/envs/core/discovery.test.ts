import { mkdir, mkdtemp, realpath, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { discover, DiscoveryProblem } from "trailgym/env";
import { afterEach, beforeEach, describe, expect, test } from "vitest";

let root: string;

beforeEach(async () => {
  root = await realpath(await mkdtemp(path.join(tmpdir(), "discovery-")));
});
afterEach(() => rm(root, { recursive: true }));

/** @param files name → id of a sound environment, or { text } for any source. */
async function lay(files: Record<string, string | { text: string }>): Promise<void> {
  for (const [name, file] of Object.entries(files)) {
    const at = path.join(root, name);
    await mkdir(path.dirname(at), { recursive: true });
    await writeFile(at, typeof file === "string" ? source(file) : file.text);
  }
}

function source(id: string): string {
  return `export default { id: ${JSON.stringify(id)}, reset() {}, step() {} };\n`;
}

async function look(...paths: string[]) {
  const { found, problems } = await discover(paths, root);
  return {
    found: found.map(({ file, definition }) => [path.relative(root, file), definition.id]),
    problems: problems.map(({ kind, file }) => [kind, path.isAbsolute(file) ? path.relative(root, file) : file]),
    messages: problems.map(({ message }) => message),
  };
}

describe("environments are found", () => {
  test("in folders, however deep, by their file name, in order; node_modules and dot folders are left alone", async () => {
    await lay({
      "envs/b/b.env.js": "b-v1",
      "envs/a.env.ts": "a-v1",
      "envs/b/deep/er/c.env.js": "c-v1",
      "envs/b/notes.js": { text: "throw new Error('not to be loaded')" },
      "envs/b/env.js": { text: "throw new Error('not to be loaded')" },
      "envs/b/x.env.json": { text: "{}" },
      "envs/b/x.env.d.ts": { text: "export {};" },
      "envs/node_modules/p/p.env.js": "p-v1",
      "envs/.cache/q.env.js": "q-v1",
    });
    expect(await look("envs")).toEqual({
      found: [
        ["envs/a.env.ts", "a-v1"],
        ["envs/b/b.env.js", "b-v1"],
        ["envs/b/deep/er/c.env.js", "c-v1"],
      ],
      problems: [],
      messages: [],
    });
  });

  test("in a single file, whatever its name, with types stripped", async () => {
    await lay({ "one.ts": { text: `const id: string = "one-v1";\nexport default { id, reset() {}, step() {} };\n` } });
    expect((await look("./one.ts")).found).toEqual([["one.ts", "one-v1"]]);
  });

  test("in an installed package, found from where the paths are relative to", async () => {
    await lay({
      "node_modules/@lab/maze/envs/maze.env.js": "maze-v1",
      "node_modules/@lab/maze/envs/maze.env.ts": { text: "throw new Error('Node strips no types in packages')" },
      "node_modules/@lab/maze/node_modules/other/other.env.js": "other-v1",
      "node_modules/bare/index.js": { text: "" },
      "work/here/x.txt": { text: "" },
    });
    const { found, problems } = await discover(["@lab/maze", "bare"], path.join(root, "work/here"));
    expect(found.map(({ definition }) => definition.id)).toEqual(["maze-v1"]);
    expect(problems.map(({ kind, file }) => [kind, file])).toEqual([["empty", "bare"]]);
  });

  test("once, when two paths or links lead to a file, and in its source when its compiled form lies beside it", async () => {
    await lay({ "envs/a.env.ts": "a-v1", "envs/a.env.js": "a-v1" });
    await symlink(path.join(root, "envs/a.env.ts"), path.join(root, "envs/b.env.ts"));
    await symlink(path.join(root, "envs"), path.join(root, "envs/loop"));
    expect(await look("envs", "envs/a.env.ts", path.join(root, "envs"))).toMatchObject({
      found: [["envs/a.env.ts", "a-v1"]],
      problems: [],
    });
  });
});

describe("what cannot be used is a problem that names the file, and hides nothing else", () => {
  test.each<[string, string, string, RegExp]>([
    ["throws", "throw new Error('boom')", "notLoadable", /bad\.env\.js: does not load \(boom\)/],
    ["does not parse", "export default {", "notLoadable", /bad\.env\.js: does not load/],
    ["imports what is not there", "import 'no-such-package'", "notLoadable", /no-such-package/],
    ["has no default export", "export const env = 1", "notAnEnv", /no default export: write `export default defineEnv/],
    ["exports null", "export default null", "notAnEnv", /no environment/],
    ["exports a function", "export default () => 1", "notAnEnv", /no environment/],
    ["exports no id", "export default { reset() {}, step() {} }", "notAnEnv", /no id/],
    ["exports no functions", "export default { id: 'x-v1' }", "notAnEnv", /no reset and no step function/],
  ])("a file that %s", async (_what, text, kind, message) => {
    await lay({ "a.env.js": "a-v1", "bad.env.js": { text }, "c.env.js": "c-v1" });
    const seen = await look(".");
    expect(seen.found.map(([, id]) => id)).toEqual(["a-v1", "c-v1"]);
    expect(seen.problems).toEqual([[kind, "bad.env.js"]]);
    expect(seen.messages[0]).toMatch(message);
  });

  test("the cause of a failed load is kept", async () => {
    await lay({ "bad.env.js": { text: "throw new TypeError('boom')" } });
    const [problem] = (await discover(["bad.env.js"], root)).problems;
    expect(problem).toBeInstanceOf(DiscoveryProblem);
    expect(problem?.cause).toMatchObject({ name: "TypeError", message: "boom" });
  });

  test("two files of one id: the first keeps it, and the message names both", async () => {
    await lay({ "a.env.js": "same-v1", "b.env.js": "same-v1", "c.env.js": "other-v1" });
    const seen = await look(".");
    expect(seen.found).toEqual([
      ["a.env.js", "same-v1"],
      ["c.env.js", "other-v1"],
    ]);
    expect(seen.problems).toEqual([["sameId", "b.env.js"]]);
    expect(seen.messages[0]).toMatch(/b\.env\.js: its id "same-v1" is that of .*a\.env\.js/);
  });

  test.each([
    ["./nowhere", "notFound"],
    ["no-such-package", "notFound"],
    ["../../etc/no such", "notFound"],
    ["", "empty"],
    ["hollow", "empty"],
  ])("the path %j", async (given, kind) => {
    await lay({ "hollow/readme.txt": { text: "" } });
    expect((await look(given)).problems).toEqual([[kind, given]]);
  });
});
