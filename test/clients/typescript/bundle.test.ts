import { builtinModules } from "node:module";
import { createServer } from "node:http";
import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import vm from "node:vm";
import { build } from "esbuild";
import { expect, test } from "vitest";
import { version } from "../../../clients/typescript/connection/version.ts";
import { scripted } from "./scripted.ts";

const root = fileURLToPath(new URL("../../../", import.meta.url));

async function bundle() {
  return build({
    absWorkingDir: root,
    entryPoints: ["clients/typescript/index.ts"],
    bundle: true,
    platform: "browser",
    format: "iife",
    globalName: "trailgym",
    minify: true,
    metafile: true,
    write: false,
    logLevel: "silent",
  });
}

test("the browser bundle holds no part of Node and no other WebSocket", async () => {
  const { metafile, warnings } = await bundle();
  expect(warnings).toEqual([]);
  const inputs = Object.keys(metafile.inputs);
  expect(inputs).toContain("clients/typescript/client.ts");
  const packages = new Set(inputs.map((path) => /node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(path)?.[1]));
  expect([...packages].filter((name) => name !== undefined).sort()).toEqual(["json-rpc-2.0", "zod"]);
  const imported = Object.values(metafile.inputs).flatMap(({ imports }) => imports.map(({ path }) => path));
  expect(imported.filter((path) => path.startsWith("node:") || builtinModules.includes(path))).toEqual([]);
});

test("the bundle plays an episode with nothing but what a browser has", async () => {
  await using server = await scripted();
  const { outputFiles } = await bundle();
  // No process, no Buffer, no require: only the globals of the web that the client may use.
  const { WebSocket, setTimeout, clearTimeout, AbortController, AbortSignal, TextEncoder, URL, atob, btoa } =
    globalThis;
  const web = {
    WebSocket,
    setTimeout,
    clearTimeout,
    AbortController,
    AbortSignal,
    TextEncoder,
    URL,
    atob,
    btoa,
    performance,
  };
  const play = `${outputFiles[0]?.text}
    (async () => {
      const client = await trailgym.connect(url, { token: "t" });
      const session = await client.make("countdown-v1");
      await session.reset();
      const { observation } = await session.step(4);
      const bytes = await session.step(new Uint8Array([1, 2, 3]).length);
      await client.close();
      return observation + bytes.observation;
    })()`;
  expect(await vm.runInNewContext(play, { ...web, url: server.url })).toBe(11);
});

const chromium = ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"].find((path) =>
  existsSync(path),
);

test("the bundle plays an episode in Chromium", { skip: chromium === undefined }, async () => {
  await using server = await scripted();
  const { outputFiles } = await bundle();
  const html = `<script>${outputFiles[0]?.text}</script><script>
    (async () => {
      const client = await trailgym.connect(${JSON.stringify(server.url)});
      const session = await client.make("countdown-v1");
      await session.reset();
      document.title = String((await session.step(4)).observation);
    })()</script>`;
  const page = createServer((_request, response) => response.setHeader("content-type", "text/html").end(html));
  await new Promise<void>((resolve) => page.listen(0, "127.0.0.1", resolve));
  const { execFile } = await import("node:child_process");
  const { promisify } = await import("node:util");
  const url = `http://127.0.0.1:${(page.address() as { port: number }).port}/`;
  const flags = ["--headless", "--no-sandbox", "--virtual-time-budget=5000", "--dump-dom", url];
  const { stdout } = await promisify(execFile)(chromium as string, flags);
  page.close();
  expect(stdout).toContain("<title>4</title>");
});

test("the client names the version of the package", async () => {
  const text = await readFile(new URL("../../../package.json", import.meta.url), "utf8");
  expect((JSON.parse(text) as { version: string }).version).toBe(version);
});
