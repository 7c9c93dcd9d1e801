import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { createServer } from "node:http";
import { builtinModules } from "node:module";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import vm from "node:vm";
import { build } from "esbuild";
import { expect, test } from "vitest";
import { version } from "../../../clients/typescript/connection/version.ts";
import { countdown } from "../../resources/envs.ts";
import { serverResource } from "../../resources/server.ts";
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

test("the bundle plays an episode in Chromium, on a real server", { skip: chromium === undefined }, async () => {
  await using server = await serverResource({ envs: [countdown] });
  const { outputFiles } = await bundle();
  const html = `<script>${outputFiles[0]?.text}</script><script>
    (async () => {
      const client = await trailgym.connect(${JSON.stringify(server.url)});
      const session = await client.make("countdown-v1", { options: { start: 3 } });
      await session.reset();
      const { reward, terminated } = await session.step({ amount: 3 });
      await client.close();
      return { reward, terminated };
    })().then(JSON.stringify, String).then((body) => fetch("/done", { method: "POST", body }))</script>`;
  const { promise: done, resolve } = Promise.withResolvers<string>();
  const page = createServer((request, response) => {
    if (request.url === "/done") void text(request).then(resolve);
    response.setHeader("content-type", "text/html").end(request.url === "/" ? html : "");
  });
  await new Promise<void>((listening) => page.listen(0, "127.0.0.1", listening));
  const folder = await mkdtemp(join(tmpdir(), "trailgym-chromium-"));
  const browser = spawn(
    chromium as string,
    [
      ..."--headless --no-sandbox --disable-gpu --no-first-run --disable-background-networking".split(" "),
      ..."--disable-component-update --disable-sync --remote-debugging-port=0".split(" "),
      `--user-data-dir=${folder}`,
      `http://127.0.0.1:${(page.address() as AddressInfo).port}/`,
    ],
    // A group of its own, with the processes that it starts.
    { stdio: "ignore", detached: true },
  );
  try {
    expect(await done).toBe('{"reward":1,"terminated":true}');
  } finally {
    process.kill(-(browser.pid as number), "SIGKILL");
    await once(browser, "exit");
    page.closeAllConnections();
    page.close();
    await rm(folder, { recursive: true, force: true, maxRetries: 5 });
  }
});

test("the client names the version of the package", async () => {
  const text = await readFile(new URL("../../../package.json", import.meta.url), "utf8");
  expect((JSON.parse(text) as { version: string }).version).toBe(version);
});
