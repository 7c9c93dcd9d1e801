/**
 * Makes the package that is published, in dist/: JavaScript and declarations (Node strips no types below node_modules), the
 * data beside them, and a manifest whose exports are the compiled files. `npm pack ./dist` packs it.
 */

import { spawnSync } from "node:child_process";
import { cpSync, existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";

const root = import.meta.dirname;
const dist = path.join(root, "dist");
const from = (...parts: string[]) => path.join(root, ...parts);

rmSync(dist, { recursive: true, force: true });
compile();
copyData();
for (const file of ["README.md", "OPERATIONS.md", "LICENSE"]) cpSync(from(file), path.join(dist, file));
writeFileSync(path.join(dist, "package.json"), `${JSON.stringify(manifest(), null, 2)}\n`);

/** For the newest target: where the compiler lowers `using`, it forgets to rename the imports in that function. */
function compile(): void {
  const tsc = fileURLToPath(import.meta.resolve("typescript/bin/tsc"));
  const { status } = spawnSync(process.execPath, [tsc, "-p", from("tsconfig.build.json")], { stdio: "inherit" });
  if (status !== 0) throw new Error("the sources do not compile");
}

/** What the sources read from beside them, and the built-in datasets. Recordings and the like are for tests. */
function copyData(): void {
  const isSource = /(\.ts|\.md|[/\\]__pycache__)$/;
  const { include } = JSON.parse(readFileSync(from("tsconfig.build.json"), "utf8")) as { include: string[] };
  for (const folder of include.filter((name) => existsSync(from(name)))) {
    cpSync(from(folder), path.join(dist, folder), { recursive: true, filter: (source) => !isSource.test(source) });
  }
  for (const name of readdirSync(from("fixtures"))) {
    if (!existsSync(from("fixtures", name, "dataset.json"))) continue;
    cpSync(from("fixtures", name), path.join(dist, "fixtures", name), { recursive: true });
  }
}

interface Manifest {
  exports: Record<string, string>;
  [field: string]: unknown;
}

function manifest(): Manifest {
  const {
    exports,
    private: _private,
    scripts,
    devDependencies,
    optionalDependencies,
    ...rest
  } = JSON.parse(readFileSync(from("package.json"), "utf8")) as Manifest;
  void [scripts, devDependencies, optionalDependencies];
  const compiled = (file: string) => file.replace(/\.ts$/, ".js");
  return {
    ...rest,
    bin: { trailgym: "clients/cli/main.js" },
    exports: Object.fromEntries(Object.entries(exports).map(([name, file]) => [name, compiled(file)])),
  };
}
