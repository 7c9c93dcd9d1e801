import { spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { afterAll, describe, expect, test } from "vitest";
import { bubblewrap } from "../../../../server/sandboxes/workspaces/bubblewrap/bubblewrap.ts";
import { seccompFilter } from "../../../../server/sandboxes/workspaces/bubblewrap/seccomp.ts";
import { workspaceContract } from "../../../contracts/workspace.ts";

const folder = mkdtempSync("/tmp/tg-");
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const installed = spawnSync("bwrap", ["--version"]).status === 0;

describe.skipIf(!installed)("with bubblewrap", () => {
  workspaceContract("bubblewrap", (leaseMs) => bubblewrap({ folder, leaseMs }));

  test("nothing is left of it: no process, no folder, no cgroup", async () => {
    const backend = bubblewrap({ folder, leaseMs: 30_000 });
    const workspace = await backend.create();
    const { id } = workspace;
    await workspace.exec({ argv: ["true"], env: { PATH: "/usr/bin" } });
    await backend[Symbol.asyncDispose]();
    expect(readdirSync(folder)).not.toContain(id);
    expect(existsSync(`/sys/fs/cgroup/memory/trailgym/${id}`)).toBe(false);
    expect(spawnSync("pgrep", ["-f", id]).stdout.toString()).toBe("");
  });
});

test("the filter is a program that ends, whatever call it is asked about", () => {
  for (const arch of ["x64", "arm64"]) {
    const program = seccompFilter(arch);
    expect(program.length % 8).toBe(0);
    expect(program.readUInt16LE(program.length - 8)).toBe(0x06);
  }
  expect(() => seccompFilter("s390x")).toThrow("docker");
});
