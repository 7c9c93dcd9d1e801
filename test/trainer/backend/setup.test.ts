import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { copyFile, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { cacheFolder, readyFile } from "../../../trainer/backend/folders.ts";
import { type Recipe, recipeFor } from "../../../trainer/backend/recipe.ts";
import { CommandFailed, run, type Run } from "../../../trainer/backend/run.ts";
import { SetupError, setupTensorflow } from "../../../trainer/backend/setup.ts";

/**
 * The registries, the compiler and the check are played here; archives, digests, unpacking and folders are real. What cannot
 * be played, a library of 600 MB, is built by `npm run test:long`.
 */
class World {
  readonly folder: string;
  readonly store: string;
  readonly calls: string[] = [];
  /** By the name of a program: what it does instead. */
  readonly broken = new Map<string, () => unknown>();
  recipe!: Recipe;

  constructor(folder: string) {
    this.folder = path.join(folder, "cache");
    this.store = path.join(folder, "registry");
  }

  async fill(): Promise<void> {
    await mkdir(this.store, { recursive: true });
    const integrity = async (name: string, files: Record<string, string>) => {
      const source = path.join(this.store, name, "package");
      for (const [file, text] of Object.entries(files)) {
        await mkdir(path.dirname(path.join(source, file)), { recursive: true });
        await writeFile(path.join(source, file), text);
      }
      const archive = path.join(this.store, `${name}-1.0.0.tgz`);
      execFileSync("tar", ["-czf", archive, "-C", path.dirname(source), "package"]);
      return `sha512-${createHash("sha512")
        .update(await readFile(archive))
        .digest("base64")}`;
    };
    const archive = async (name: string, files: Record<string, string>) => ({
      name,
      version: "1.0.0",
      integrity: await integrity(name, files),
    });
    const wheel = path.join(this.store, "tensorflow-1-x.whl");
    execFileSync("python3", [
      "-c",
      `import sys, zipfile
with zipfile.ZipFile(sys.argv[1], "w") as z:
    for name in sys.argv[2:]:
        z.writestr(name, name)`,
      wheel,
      "tensorflow/libtensorflow_cc.so.2",
      "tensorflow/libtensorflow_framework.so.2",
      "tensorflow/include/tensorflow/c/c_api.h",
      "tensorflow/include/xla/tsl/c/tsl_status.h",
      "tensorflow/include/tensorflow/core/platform/ctstring.h",
      "tensorflow/include/LICENSE",
      "tensorflow/THIRD_PARTY_NOTICES.txt",
      "tensorflow/python/huge.py",
    ]);
    this.recipe = {
      id: "tensorflow-cpu-1",
      archives: {
        tfjsNode: await archive("tfjs-node", { "dist/index.js": "", "binding/tfjs_backend.cc": "" }),
        headers: await archive("headers", { "include/node_api.h": "" }),
        protobuf: await archive("protobuf", { "index.js": "" }),
      },
      wheels: [
        {
          name: "tensorflow",
          version: "1",
          file: path.basename(wheel),
          sha256: createHash("sha256")
            .update(await readFile(wheel))
            .digest("hex"),
        },
      ],
      platforms: ["any"],
      downloadBytes: 275e6,
      diskBytes: 1.5e9,
    };
  }

  readonly run: Run = async (command, args, options) => {
    const what = command === process.execPath ? "check" : path.basename(command);
    const words = args.join(" ");
    const named = words.includes("pip download") ? "pip" : words.startsWith("pack") ? "npm" : what;
    if (words.includes("--version")) return "1";
    this.calls.push(named);
    const instead = this.broken.get(named);
    if (instead) await instead();
    switch (named) {
      case "pip": {
        const to = args[args.indexOf("--dest") + 1]!;
        for (const { file } of this.recipe.wheels) await copyFile(path.join(this.store, file), path.join(to, file));
        return "";
      }
      case "npm": {
        const name = `${args.at(-1)!.replace("@1.0.0", "")}-1.0.0.tgz`;
        await copyFile(path.join(this.store, name), path.join(args[args.indexOf("--pack-destination") + 1]!, name));
        return "";
      }
      case "g++":
        await writeFile(args.at(-1)!, "binding");
        return "";
      case "strip":
        throw new CommandFailed("strip", "not found", true);
      case "check":
        if (!existsSync(path.join(args[1]!, "package/lib/napi-v8/tfjs_binding.node"))) throw new Error("no binding");
        return '{"gpu":false}';
      default:
        return run(command, args, options);
    }
  };

  readonly said: string[] = [];
  setup(more: { force?: boolean } = {}) {
    return setupTensorflow({
      variant: "cpu",
      folder: this.folder,
      recipe: this.recipe,
      run: this.run,
      say: (line) => this.said.push(line),
      ...more,
    });
  }

  /** Everything below the cache folder that is a file or an empty folder. */
  async left(): Promise<string[]> {
    const entries = await readdir(this.folder, { recursive: true, withFileTypes: true });
    return entries
      .filter((entry) => !entry.isDirectory())
      .map((entry) => path.relative(this.folder, path.join(entry.parentPath, entry.name)))
      .sort();
  }
}

describe("setup tensorflow", () => {
  let temporary: string;
  let world: World;
  beforeEach(async () => {
    temporary = await mkdtemp(path.join(tmpdir(), "trailgym-setup-"));
    world = new World(temporary);
    await world.fill();
  });
  afterEach(() => rm(temporary, { recursive: true }));

  test("says what it downloads and how large it is, before it does", async () => {
    await world.setup();
    const [first] = world.said;
    expect(first).toMatch(/^downloads 275 MB, takes 1\.5 GB in .*tensorflow-cpu-1:/);
    expect(first).toContain("tensorflow 1 (pip)");
    expect(first).toContain("tfjs-node 1.0.0 (npm)");
  });

  test("leaves the binding, the libraries and their notices, and neither headers nor downloads", async () => {
    const { folder, built } = await world.setup();
    expect(built).toBe(true);
    expect(await world.left()).toEqual(
      [
        "binding/tfjs_backend.cc",
        "deps/LICENSE",
        "deps/THIRD_PARTY_NOTICES.txt",
        "deps/lib/libtensorflow.so",
        "deps/lib/libtensorflow_cc.so.2",
        "deps/lib/libtensorflow_framework.so",
        "deps/lib/libtensorflow_framework.so.2",
        "dist/index.js",
        "lib/napi-v8/tfjs_binding.node",
        "node_modules/@tensorflow/tfjs-core/index.js",
        "node_modules/@tensorflow/tfjs/index.js",
        "node_modules/google-protobuf/index.js",
      ]
        .map((file) => path.join("tensorflow-cpu-1/package", file))
        .concat(path.join("tensorflow-cpu-1", readyFile))
        .sort(),
    );
    expect(JSON.parse(await readFile(path.join(folder, readyFile), "utf8"))).toEqual({
      id: "tensorflow-cpu-1",
      gpu: false,
    });
  });

  test("a second time only checks; --force builds anew", async () => {
    await world.setup();
    world.calls.length = 0;
    expect((await world.setup()).built).toBe(false);
    expect(world.calls).toEqual(["check"]);
    expect((await world.setup({ force: true })).built).toBe(true);
  });

  test.each(["g++", "check"])(
    "when %s fails, nothing half-made is left, and the next run does not download again",
    async (what) => {
      world.broken.set(what, () => {
        throw new CommandFailed(what, "ended with 1\nno such thing");
      });
      await expect(world.setup()).rejects.toThrow(SetupError);
      await expect(world.setup()).rejects.toThrow(/no such thing/);
      expect((await world.left()).every((file) => file.startsWith("downloads"))).toBe(true);
      world.broken.clear();
      world.calls.length = 0;
      expect((await world.setup()).built).toBe(true);
      expect(world.calls).not.toContain("pip");
      expect(world.calls).not.toContain("npm");
    },
  );

  test("a build that fails leaves the one before as it was", async () => {
    await world.setup();
    world.broken.set("g++", () => {
      throw new CommandFailed("g++", "ended with 1");
    });
    await expect(world.setup({ force: true })).rejects.toThrow(SetupError);
    expect((await world.setup()).built).toBe(false);
  });

  test("refuses a download with another digest, and does not keep it", async () => {
    await writeFile(path.join(world.store, world.recipe.wheels[0]!.file), "something else");
    await expect(world.setup()).rejects.toThrow(/tensorflow-1-x\.whl is not the file that was pinned/);
    expect((await world.left()).filter((file) => file.endsWith(".whl"))).toEqual([]);
  });

  test("fetches half a download again", async () => {
    const file = path.join(world.folder, "downloads", world.recipe.wheels[0]!.file);
    await mkdir(path.dirname(file), { recursive: true });
    await writeFile(file, "half");
    expect((await world.setup()).built).toBe(true);
  });

  test("sweeps up after a run that was killed, and lets one that is under way be", async () => {
    const dead = path.join(world.folder, "tensorflow-cpu-1.partial-999999999-abc");
    const alive = path.join(world.folder, `tensorflow-cpu-1.partial-${process.pid}-abc`);
    for (const folder of [dead, alive]) await mkdir(folder, { recursive: true });
    await world.setup();
    expect([existsSync(dead), existsSync(alive)]).toEqual([false, true]);
  });

  test("names the program that is missing", async () => {
    const launch: Run = (command, args, options) => {
      if (["g++", "c++", "clang++"].includes(command))
        return Promise.reject(new CommandFailed(command, "not found", true));
      return world.run(command, args, options);
    };
    const attempt = setupTensorflow({
      variant: "cpu",
      folder: world.folder,
      recipe: world.recipe,
      run: launch,
      say: () => undefined,
    });
    await expect(attempt).rejects.toThrow("a C++ compiler is needed: none of g++, c++, clang++ works");
  });

  test("can be stopped: the program that runs is ended, and nothing is left", async () => {
    const controller = new AbortController();
    world.broken.set("g++", () => run("sleep", ["60"], { signal: controller.signal }));
    const attempt = setupTensorflow({
      variant: "cpu",
      folder: world.folder,
      recipe: world.recipe,
      run: world.run,
      signal: controller.signal,
      say: (line) => {
        if (line.startsWith("compiling")) setImmediate(() => controller.abort(new Error("stopped by SIGINT")));
      },
    });
    await expect(attempt).rejects.toThrow("stopped by SIGINT");
    expect((await world.left()).every((file) => file.startsWith("downloads"))).toBe(true);
  });
});

describe("recipes", () => {
  test("pin every package by a digest, for the platforms that have one", () => {
    const recipes = [
      ["cpu", "x64"],
      ["cpu", "arm64"],
      ["gpu", "x64"],
    ] as const;
    for (const [variant, arch] of recipes) {
      const recipe = recipeFor(variant, "linux", arch)!;
      for (const { integrity } of Object.values(recipe.archives)) expect(integrity).toMatch(/^sha512-[\w+/]{86}==$/);
      for (const { sha256, file, version } of recipe.wheels) {
        expect(sha256).toMatch(/^[0-9a-f]{64}$/);
        expect(file).toContain(`-${version}-`);
      }
    }
    expect(new Set(recipes.map(([variant]) => recipeFor(variant, "linux", "x64")!.id)).size).toBe(2);
  });

  test("are missing elsewhere", () => {
    expect(recipeFor("cpu", "darwin", "arm64")).toBeUndefined();
    expect(recipeFor("gpu", "linux", "arm64")).toBeUndefined();
  });
});

test("the cache is where the user's caches are", () => {
  expect(cacheFolder({ XDG_CACHE_HOME: "/x" }, "/home/u")).toBe("/x/trailgym");
  expect(cacheFolder({ XDG_CACHE_HOME: "relative" }, "/home/u")).toBe("/home/u/.cache/trailgym");
  expect(cacheFolder({}, "/home/u")).toBe("/home/u/.cache/trailgym");
});
