/** A server whose processes, threads, open files, temporary files and memory can be counted from outside. */

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, readdirSync, readFileSync, readlinkSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { until } from "../events.ts";
import type { Resources } from "./resources.ts";

const at = (name: string) => fileURLToPath(new URL(name, import.meta.url));

export interface Held extends Resources {
  /** Of the server and of all that descends from it. */
  processes: number;
  threads: number;
  /** All but the journal's, which a checkpoint opens once more when the first one is due. */
  openFiles: number;
  /** Entries of the folder that it was given for temporary files. */
  temporary: number;
}

export class CountedServer implements AsyncDisposable {
  readonly url: string;
  readonly #child: ChildProcess;
  readonly #folder: string;

  private constructor(url: string, child: ChildProcess, folder: string) {
    this.url = url;
    this.#child = child;
    this.#folder = folder;
  }

  static async start(): Promise<CountedServer> {
    const folder = mkdtempSync(join(tmpdir(), "trailgym-leaks-"));
    const child = spawn(
      process.execPath,
      [
        ...["--expose-gc", "--import", at("resources.ts"), at("../../../clients/cli/main.ts")],
        ...["serve", "--port", "0", "--json", "--log-level", "silent", "--data", join(folder, "data")],
        ...["--envs", at("unruly.env.ts"), "--tasks", at("dataset"), "--interpreters", "2"],
      ],
      {
        stdio: ["ignore", "pipe", "inherit"],
        env: { ...process.env, TMPDIR: mkdtempSync(join(folder, "tmp-")), LEAKS_REPORT: join(folder, "report.json") },
      },
    );
    const [line] = (await once(createInterface({ input: child.stdout as NodeJS.ReadableStream }), "line")) as [string];
    return new CountedServer((JSON.parse(line) as { url: string }).url, child, folder);
  }

  async held(): Promise<Held> {
    const report = join(this.#folder, "report.json");
    this.#child.kill("SIGUSR2");
    await until(() => existsSync(report));
    const resources = JSON.parse(readFileSync(report, "utf8")) as Resources;
    rmSync(report);
    const pid = this.#child.pid as number;
    const temporary = readdirSync(this.#folder).find((name) => name.startsWith("tmp-")) as string;
    return {
      ...resources,
      processes: descendants(pid),
      threads: readdirSync(`/proc/${pid}/task`).length,
      openFiles: openFiles(pid).filter((file) => !file.startsWith(join(this.#folder, "data"))).length,
      temporary: readdirSync(join(this.#folder, temporary), { recursive: true }).length,
    };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#child.kill("SIGTERM");
    await once(this.#child, "exit");
    rmSync(this.#folder, { recursive: true, force: true });
  }
}

function openFiles(pid: number): string[] {
  const folder = `/proc/${pid}/fd`;
  return readdirSync(folder).flatMap((fd) => {
    try {
      return [readlinkSync(join(folder, fd))];
    } catch {
      return []; // It closed meanwhile.
    }
  });
}

/** With itself. */
function descendants(pid: number): number {
  const children = readdirSync(`/proc/${pid}/task`).flatMap((task) => {
    try {
      return readFileSync(`/proc/${pid}/task/${task}/children`, "utf8").trim().split(" ").filter(Boolean);
    } catch {
      return [];
    }
  });
  return children.reduce((sum, child) => sum + descendants(Number(child)), 1);
}
