/** Runs a thread of checks, and ends it when its code never comes back. */

import { Worker } from "node:worker_threads";
import type { CheckReport, Finding } from "trailgym/env";
import { beside } from "../beside.ts";
import { Failure } from "../terminal/failure.ts";
import type { FromThread, Job } from "./messages.ts";

export interface Named extends CheckReport {
  name: string;
  /** The thread had to be ended in the middle of it. */
  unfinished?: true;
}

export interface Listener {
  found(total: number): void;
  begins(name: string, everyTask: boolean): void;
  report(report: Named): void;
}

/** @throws Failure when nothing can be checked. */
export async function runChecks(job: Omit<Job, "skip">, listener: Listener): Promise<void> {
  // What ends its thread takes the checks after it along: those get another.
  for (let skip = 0, ended = true; ended;) {
    ended = await runThread({ ...job, skip }, { ...listener, report: (report) => (skip++, listener.report(report)) });
  }
}

/** @returns whether it ended in the middle of a check, which is then reported. */
function runThread(job: Job, listener: Listener): Promise<boolean> {
  const { promise, resolve, reject } = Promise.withResolvers<boolean>();
  const worker = new Worker(beside(import.meta.url, "./thread.ts"), { workerData: job });
  let check: { name: string; id: string } | undefined;
  let call: Extract<FromThread, { kind: "call" }> | undefined;
  let heardAt = performance.now();
  let over = false;
  const settle = (act: () => void) => {
    over = true;
    clearInterval(watch);
    act();
    void worker.terminate();
  };
  const broken = (rule: Finding["rule"], about: (what: string) => string) => {
    if (over) return;
    if (check === undefined)
      return settle(() => reject(new Failure(`${job.envs.join(", ") || "the datasets"}: ${about("loading it")}`)));
    const { name, id } = check;
    const message = about(call === undefined ? "reading its definition and tasks" : said(call));
    const finding: Finding = { severity: "error", rule, message, ...(call === undefined ? {} : { at: call.at }) };
    const report = { id, ok: false, findings: [finding], episodes: 0, steps: 0 };
    settle(() => {
      listener.report({ name, ...report, unfinished: true });
      resolve(true);
    });
  };
  const watch = setInterval(() => {
    if (performance.now() - heardAt < job.stuckMs) return;
    const seconds = job.stuckMs / 1000;
    broken("timeout", (what) => `${what} has not returned in ${seconds} s: a loop in it may never end`);
  }, 50);
  worker.on("message", (message: FromThread) => {
    heardAt = performance.now();
    switch (message.kind) {
      case "alive":
        return;
      case "found":
        return listener.found(message.total);
      case "begins":
        [check, call] = [message, undefined];
        return listener.begins(message.name, message.everyTask);
      case "call":
        call = message;
        return;
      case "report": {
        const { name } = check as { name: string };
        check = undefined;
        return listener.report({ name, ...message.report });
      }
      case "failed":
        return settle(() => reject(new Failure(message.message)));
      case "done":
        // Its interpreters are ended before it ends.
        over = true;
        clearInterval(watch);
        worker.once("exit", () => resolve(false));
    }
  });
  // What is thrown outside of every call, such as in a timer that it left behind.
  worker.on("error", (error) => broken("throws", (what) => `${what} ended its thread: ${messageOf(error)}`));
  worker.on("exit", () => broken("throws", (what) => `${what} ended its thread, as process.exit() does`));
  return promise;
}

function said({ call, at: { step, task } }: Extract<FromThread, { kind: "call" }>): string {
  const name = call === "step" ? `step ${step}` : call;
  return task === undefined ? name : `${name} of task ${task}`;
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
