/** Who makes the snapshot where there is none yet? A process beside the first interpreters, which do not wait for it. */

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { beside } from "../paths.ts";

export class SnapshotKeeper implements AsyncDisposable {
  readonly #file: string;
  #process: ChildProcess | undefined;
  #begun = false;

  constructor(file: string) {
    this.#file = file;
  }

  /** A snapshot will be needed. What goes wrong costs later processes some seconds, and nothing else. */
  begin(): void {
    if (this.#begun) return;
    this.#begun = true;
    if (existsSync(this.#file)) return;
    const save = fileURLToPath(beside(import.meta.url, "./save.ts"));
    this.#process = spawn(process.execPath, [save, this.#file], { stdio: "ignore", windowsHide: true });
    this.#process.on("error", () => undefined).unref();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#begun = true;
    const child = this.#process;
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
    child.kill("SIGKILL");
    await once(child, "exit");
  }
}
