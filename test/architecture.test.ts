/** Who may import what: the table is the documentation of it, and the tests hold the whole tree against it. */

import { readdirSync, readFileSync } from "node:fs";
import { isBuiltin } from "node:module";
import path from "node:path";
import ts from "typescript";
import { describe, expect, test } from "vitest";

interface Layer {
  /** Which of the package's own exports (`trailgym/…`). Never its own: inside a folder imports are relative. */
  own: readonly string[];
  /** Third-party packages. */
  packages: readonly string[];
  /** `true`: all of Node. */
  node: boolean;
  /** Folders and files that it may also reach by relative path. */
  reach?: readonly string[];
  why: string;
}

const layers: Record<string, Layer> = {
  protocol: { own: [], packages: ["zod"], node: false, why: "the wire: no I/O, no clock; runs in browsers" },
  "envs/core": { own: ["protocol"], packages: ["zod"], node: false, why: "what an environment is" },
  "envs/*": {
    own: ["env", "protocol"],
    packages: ["zod"],
    node: false,
    why: "a family opens no socket, file or process, and knows no other family",
  },
  pheromone: {
    own: ["protocol"],
    packages: ["zod"],
    node: false,
    why: "pure; used by the trainer, served by the server",
  },
  server: {
    own: ["env", "pheromone", "protocol"],
    packages: ["json-rpc-2.0", "pino", "prom-client", "ws", "zod"],
    node: true,
    why: "the host; names no environment",
  },
  trainer: {
    own: ["client", "env", "pheromone", "protocol"],
    packages: [
      "@tensorflow/tfjs-backend-cpu",
      "@tensorflow/tfjs-backend-wasm",
      "@tensorflow/tfjs-core",
      "@tensorflow/tfjs-layers",
      "zod",
    ],
    node: true,
    why: "learns through a client",
  },
  "clients/typescript": {
    own: ["protocol"],
    packages: ["json-rpc-2.0"],
    node: false,
    why: "never the server; runs in browsers",
  },
  "clients/cli": {
    own: ["client", "env", "pheromone", "protocol", "server", "trainer"],
    packages: ["cli-progress", "commander", "ws", "zod"],
    node: true,
    reach: ["envs/*", "fixtures", "package.json"],
    why: "the only place that composes server, trainer and families",
  },
};

/** More, for one file or folder: [packages, `node:…` modules, paths of this repository, or "computed" imports]. */
const grants: Record<string, readonly string[]> = {
  "envs/core/discovery.ts": ["node:fs", "node:fs/promises", "node:path", "node:url", "computed"],
  "envs/code-gym": ["hyparquet", "hyparquet-compressors"],
  // Tools' arguments are checked as servers check them; what it compiles are a schema's own rules.
  "envs/mcp-tools/schema": ["ajv", "ajv-formats"],
  "server/journal/sqlite": ["better-sqlite3"],
  "server/sandboxes/isolate": ["acorn", "eslint-scope", "isolated-vm"],
  "server/sandboxes/pyodide": ["pyodide"],
  "server/tracing.ts": ["@opentelemetry/api"],
  // An environment's file in a thread of its own.
  "server/hosts/thread.ts": ["computed"],
  "clients/cli/journal/parquet.ts": ["hyparquet-writer"],
  "clients/cli/package.ts": ["envs"],
};

const exports = ["./client", "./env", "./pheromone", "./protocol", "./server", "./trainer"];

const root = path.resolve(import.meta.dirname, "..");

type Files = ReadonlyMap<string, string>;

interface Import {
  /** Undefined: computed when it runs. */
  specifier: string | undefined;
  line: number;
}

function walk(folder: string): string[] {
  return readdirSync(path.join(root, folder), { withFileTypes: true }).flatMap((entry) => {
    const name = path.posix.join(folder, entry.name);
    if (entry.isDirectory()) return entry.name === "node_modules" || entry.name.startsWith(".") ? [] : walk(name);
    return /\.[cm]?[jt]sx?$/.test(entry.name) ? [name] : [];
  });
}

function realFiles(): Files {
  const names = walk("").filter((name) => name.includes("/") && !/^(fixtures|dist)\//.test(name));
  return new Map(names.map((name) => [name, readFileSync(path.join(root, name), "utf8")]));
}

/** `envs/countdown/x.ts` is in layer `envs/*`; what no layer holds is in none. */
function layerOf(file: string): string | undefined {
  const [first = "", second = ""] = file.split("/");
  for (const name of [first, `${first}/${second}`]) if (Object.hasOwn(layers, name)) return name;
  return first === "envs" && second !== "" ? "envs/*" : undefined;
}

/** The folder inside which imports are relative: two families are two. */
function folderOf(file: string): string {
  const [first = "", second = ""] = file.split("/");
  return first === "envs" || first === "clients" ? `${first}/${second}` : first;
}

function importsOf(file: string, text: string): Import[] {
  const source = ts.createSourceFile(file, text, ts.ScriptTarget.Latest, true);
  const found: Import[] = [];
  const add = (node: ts.Node, specifier: ts.Node | undefined) =>
    found.push({
      specifier: specifier !== undefined && ts.isStringLiteralLike(specifier) ? specifier.text : undefined,
      line: source.getLineAndCharacterOfPosition(node.getStart()).line + 1,
    });
  const visit = (node: ts.Node): void => {
    if (ts.isImportDeclaration(node)) add(node, node.moduleSpecifier);
    else if (ts.isExportDeclaration(node) && node.moduleSpecifier) add(node, node.moduleSpecifier);
    else if (ts.isExternalModuleReference(node)) add(node, node.expression);
    else if (ts.isImportTypeNode(node) && ts.isLiteralTypeNode(node.argument)) add(node, node.argument.literal);
    else if (ts.isCallExpression(node) && loads(node.expression)) add(node, node.arguments[0]);
    else if (ts.isNewExpression(node) && node.expression.getText() === "URL") {
      const [first, base] = node.arguments ?? [];
      // A worker's or data file's place beside this one.
      if (base?.getText() === "import.meta.url" && first && ts.isStringLiteralLike(first)) add(node, first);
    }
    ts.forEachChild(node, visit);
  };
  visit(source);
  return found;
}

function loads(callee: ts.Expression): boolean {
  return (
    callee.kind === ts.SyntaxKind.ImportKeyword ||
    ["require", "require.resolve", "import.meta.resolve", "process.getBuiltinModule"].includes(callee.getText())
  );
}

function granted(file: string, what: string): boolean {
  return Object.entries(grants).some(
    ([place, list]) => (file === place || file.startsWith(`${place}/`)) && list.includes(what),
  );
}

/** What is wrong with one import, as the end of a sentence. */
function problemOf(file: string, { specifier }: Import): string | undefined {
  const name = layerOf(file);
  if (name === undefined) return undefined;
  const layer = layers[name] as Layer;
  if (specifier === undefined)
    return granted(file, "computed") ? undefined : "has a computed import: nobody can tell what it loads";
  if (specifier.startsWith("."))
    return pathProblem(file, layer, path.posix.normalize(path.posix.join(path.dirname(file), specifier)));
  if (specifier.startsWith("/") || /^(file|data|https?):/.test(specifier))
    return `imports ${specifier}, which is no package`;
  if (isBuiltin(specifier)) {
    const module = specifier.startsWith("node:") ? specifier : `node:${specifier}`;
    return layer.node || granted(file, module) ? undefined : `imports ${module}: ${layer.why}`;
  }
  const [first = "", second = "", ...rest] = specifier.split("/");
  if (first === "trailgym") {
    const known = layer.own.includes(second) && rest.length === 0;
    return known ? undefined : `imports ${specifier}: ${layer.why}`;
  }
  const pack = first.startsWith("@") ? `${first}/${second}` : first;
  return layer.packages.includes(pack) || granted(file, pack) ? undefined : `imports ${pack}: ${layer.why}`;
}

function pathProblem(file: string, layer: Layer, target: string): string | undefined {
  if (target === "test" || target.startsWith("test/")) return `imports ${target}: nothing imports test`;
  if (folderOf(target) === folderOf(file) || granted(file, target.replace(/\/$/, ""))) return undefined;
  const reach = layer.reach ?? [];
  if (reach.includes(layerOf(target) ?? "") || reach.includes(target.split("/")[0] ?? "")) return undefined;
  const names: Record<string, string> = { "envs/core": "env", "clients/typescript": "client" };
  const to = folderOf(target);
  if (layerOf(target) === "envs/*") return `imports ${target}: no ${folderOf(file)} knows the family ${to}`;
  return `imports ${target} by path: write trailgym/${names[to] ?? to}`;
}

function violations(files: Files): string[] {
  return [...files].flatMap(([file, text]) => [
    ...importsOf(file, text).flatMap((each) => problemOf(file, each)?.replace(/^/, `${file} `) ?? []),
    ...(file.startsWith("server/") ? namesOf(file, text, familiesOf(files)) : []),
    ...silenced(file, text),
  ]);
}

function familiesOf(files: Files): string[] {
  const families = [...files.keys()]
    .filter((file) => layerOf(file) === "envs/*")
    .map((file) => file.split("/")[1] as string);
  return [...new Set(families)];
}

/** The server serves what it is given. A name in a comment is an example; one in a string is a decision. */
function namesOf(file: string, text: string, families: readonly string[]): string[] {
  const found: string[] = [];
  const visit = (node: ts.Node): void => {
    if (ts.isStringLiteralLike(node) || ts.isTemplateHead(node) || ts.isTemplateMiddleOrTemplateTail(node)) {
      for (const family of families)
        if (node.text.includes(family)) found.push(`${file} names the environment ${family}`);
    }
    ts.forEachChild(node, visit);
  };
  visit(ts.createSourceFile(file, text, ts.ScriptTarget.Latest, true));
  return found;
}

/** Nobody switches off the rules that hold this table, by name or with all others. */
function silenced(file: string, text: string): string[] {
  const comments = text.match(/(\/\/|\/\*)\s*eslint-disable.*/g) ?? [];
  return comments
    .filter((comment) => {
      const rules = comment
        .replace(/^.*?eslint-disable(-next-line|-line)?/, "")
        .replace(/(--|\*\/).*$/, "")
        .trim();
      return rules === "" || /no-restricted-imports|no-restricted-properties|\bimport\//.test(rules);
    })
    .map((comment) => `${file} switches off import rules: ${comment.slice(0, 60)}`);
}

const files = realFiles();

describe("the tree", () => {
  test("was walked: every folder of the table that exists has files, and they import things", () => {
    const folders = [...new Set([...files.keys()].map(folderOf))];
    for (const folder of [
      "protocol",
      "envs/core",
      "envs/countdown",
      "server",
      "clients/typescript",
      "clients/cli",
      "test",
    ]) {
      expect(folders).toContain(folder);
    }
    const imports = [...files].flatMap(([file, text]) => importsOf(file, text));
    expect(files.size).toBeGreaterThan(80);
    expect(imports.length).toBeGreaterThan(files.size);
    expect(familiesOf(files)).toContain("countdown");
  });

  test("has no file outside of the table, tests and configuration excepted", () => {
    const outside = [...files.keys()].filter((file) => layerOf(file) === undefined && !file.startsWith("test/"));
    expect(outside).toEqual([]);
  });

  test("keeps to the table", () => {
    expect(violations(files)).toEqual([]);
  });
});

describe("package.json", () => {
  const manifest = JSON.parse(readFileSync(path.join(root, "package.json"), "utf8")) as {
    exports: Record<string, string>;
    dependencies: Record<string, string>;
    peerDependencies: Record<string, string>;
  };

  test("exports the layers' doors and nothing else", () => {
    expect(Object.keys(manifest.exports).toSorted()).toEqual(exports);
    for (const target of Object.values(manifest.exports))
      expect(files.has(path.posix.normalize(target)), target).toBe(true);
  });

  test("has each dependency for a folder of the table, and each package of the table as a dependency", () => {
    const tabled = [...Object.values(layers).flatMap((layer) => layer.packages), ...Object.values(grants).flat()];
    const packages = tabled.filter((name) => !/^(node:|computed$|envs$)/.test(name));
    // Peers are what an operator may add.
    const given = Object.keys({ ...manifest.dependencies, ...manifest.peerDependencies });
    expect([...new Set(packages)].toSorted()).toEqual(given.toSorted());
  });
});

describe("a planted violation is found", () => {
  const planted: [string, string, string, RegExp | undefined][] = [
    [
      "a family imports another",
      "envs/countdown/x.ts",
      'import "../code-gym/task.ts"',
      /no envs\/countdown knows the family envs\/code-gym/,
    ],
    [
      "a family imports core by path",
      "envs/countdown/x.ts",
      'import "../core/index.ts"',
      /by path: write trailgym\/env/,
    ],
    ["a family imports a file module", "envs/countdown/x.ts", 'import fs from "node:fs"', /imports node:fs/],
    ["… without its prefix", "envs/countdown/x.ts", 'import fs from "fs/promises"', /imports node:fs\/promises/],
    ["… for its types", "envs/countdown/x.ts", 'import type { Stats } from "node:fs"', /imports node:fs/],
    ["… in a type", "envs/countdown/x.ts", 'type T = import("node:fs").Stats', /imports node:fs/],
    ["… when it runs", "envs/countdown/x.ts", 'await import("node:child_process")', /imports node:child_process/],
    ["… by require", "envs/countdown/x.ts", 'import fs = require("node:fs")', /imports node:fs/],
    ["… by re-export", "envs/countdown/x.ts", 'export * from "node:net"', /imports node:net/],
    ["… through process", "envs/countdown/x.ts", 'process.getBuiltinModule("fs")', /imports node:fs/],
    ["… under a computed name", "envs/countdown/x.ts", "await import(`node:${x}`)", /computed import/],
    ...["dockerode", "isolated-vm", "ws", "pyodide", "@scope/pack"].map((name): [string, string, string, RegExp] => [
      `a family imports ${name}`,
      "envs/countdown/x.ts",
      `import "${name}/sub"`,
      new RegExp(`imports ${name}:`),
    ]),
    ["a family that is new imports Node", "envs/brand-new/x.env.ts", 'import "node:os"', /imports node:os/],
    ["core reads files elsewhere than in discovery.ts", "envs/core/tasks.ts", 'import "node:fs"', /imports node:fs/],
    [
      "discovery.ts starts a process",
      "envs/core/discovery.ts",
      'import "node:child_process"',
      /imports node:child_process/,
    ],
    ["the protocol imports core", "protocol/x.ts", 'import "trailgym/env"', /imports trailgym\/env/],
    ["a folder imports itself by name", "protocol/x.ts", 'import "trailgym/protocol"', /imports trailgym\/protocol/],
    [
      "the server imports a family",
      "server/x.ts",
      'import "../envs/countdown/countdown.env.ts"',
      /family envs\/countdown/,
    ],
    ["the server names a family", "server/x.ts", "const id = `countdown-v${1}`", /names the environment countdown/],
    [
      "the server names a family that is new",
      "server/x.ts",
      'if (id === "brand-new-v1") cheat()',
      /names the environment brand-new/,
    ],
    ["the server imports core by path", "server/x.ts", 'import "../envs/core/rng.ts"', /write trailgym\/env/],
    ["the server imports a client", "server/x.ts", 'import "trailgym/client"', /imports trailgym\/client/],
    [
      "the server imports isolated-vm outside of its sandbox",
      "server/x.ts",
      'import "isolated-vm"',
      /imports isolated-vm/,
    ],
    ["the server imports the command line", "server/x.ts", 'import "../clients/cli/main.ts"', /by path/],
    ["a client imports the server", "clients/typescript/x.ts", 'import "trailgym/server"', /imports trailgym\/server/],
    ["a client imports the command line", "clients/typescript/x.ts", 'import "../cli/io.ts"', /by path/],
    [
      "the command line imports the server by path",
      "clients/cli/x.ts",
      'import "../../server/log.ts"',
      /write trailgym\/server/,
    ],
    [
      "something passes over the package's exports",
      "trainer/x.ts",
      'import "trailgym/protocol/values.ts"',
      /imports trailgym\/protocol\/values\.ts/,
    ],
    ["something imports a test", "clients/cli/x.ts", 'import "../../test/contracts/env.ts"', /nothing imports test/],
    ["a worker lies elsewhere", "server/x.ts", 'new Worker(new URL("../trainer/w.ts", import.meta.url))', /by path/],
    [
      "import rules are switched off",
      "server/x.ts",
      `// eslint-${"disable"}-next-line no-restricted-imports -- why`,
      /switches off/,
    ],
    ["all rules are switched off", "server/x.ts", `/* eslint-${"disable"} */`, /switches off/],
    ["… with a reason", "server/x.ts", `// eslint-${"disable"}-line -- I may`, /switches off/],

    [
      "nothing: the command line composes a family",
      "clients/cli/x.ts",
      'import "../../envs/code-gym/import.ts"',
      undefined,
    ],
    [
      "nothing: the server uses Node and its own files",
      "server/a/x.ts",
      'import "node:net"; import "../log.ts"',
      undefined,
    ],
    ["nothing: a comment names a family", "server/x.ts", '// such as "countdown-v1"', undefined],
    ["nothing: an import stands in a string", "envs/countdown/x.ts", `const text = 'import "node:fs"'`, undefined],
    [
      "nothing: another rule is switched off",
      "server/x.ts",
      `// eslint-${"disable"}-next-line no-console -- why`,
      undefined,
    ],
  ];
  const beside: [string, string][] = [
    ["envs/countdown/countdown.env.ts", ""],
    ["envs/brand-new/brand-new.env.ts", ""],
  ];

  test.each(planted)("%s", (_what, file, text, expected) => {
    const found = violations(new Map([...beside, [file, text]]));
    if (expected === undefined) expect(found).toEqual([]);
    else expect(found).toContainEqual(expect.stringMatching(expected));
    for (const each of found) expect(each.startsWith(`${file} `), each).toBe(true);
  });
});
