/** Which process takes which call, and what happens to it when its time is up? */

import { SandboxLost, SandboxUnavailable, type InterpreterOutcome, type Language } from "trailgym/env";
import { Callers } from "./callers.ts";
import { describeExit, type Exit } from "./child.ts";
import type { RequestHead } from "./messages.ts";
import { lies, outcomeOfExit, read, type Outcome } from "./outcome.ts";
import { Processes, type ProcessOptions, type Slot } from "./processes.ts";
import type { ProgramText } from "./programs.ts";
import { Queue, type Waiting } from "./queue.ts";
import { Watchdog } from "./watchdog.ts";

export interface PoolOptions extends ProcessOptions {
  language: Language;
  /** How long after its deadline a call is left to end by itself, which spares the process. */
  graceMs: number;
  /** What a call may take longer than others because it loads its program. */
  loadMs: number;
}

export interface Job {
  head: Omit<RequestHead, "program" | "modules" | "fresh">;
  text: ProgramText;
  args: string;
  state: Uint8Array | undefined;
  signal: AbortSignal;
  /** Who asks: callers take turns. Default: the program. */
  owner?: string | undefined;
}

export interface PoolUse {
  processes: number;
  /** Those that run a call. */
  busy: number;
  /** Calls that wait for a process. */
  waiting: number;
}

interface Call extends Waiting {
  job: Job;
  resolve(outcome: InterpreterOutcome): void;
  reject(error: Error): void;
  abandon: () => void;
  /** Its process was taken away once. */
  lost: boolean;
}

/** Many times what an ordinary call takes, and less than what another caller would mind to wait. */
const LONG_MS = 100;
/** In a row, before the calls that wait are told. */
const MAX_FAILED_STARTS = 3;

export class Pool implements AsyncDisposable {
  readonly #options: PoolOptions;
  readonly #processes: Processes;
  readonly #queue = new Queue<Call>();
  /** Calls that wait for a process of their own to start. */
  readonly #reserved = new Set<Call>();
  readonly #callers = new Callers();
  #disposed = false;
  #failedStarts = 0;

  constructor(options: PoolOptions) {
    this.#options = options;
    this.#processes = new Processes(options, () => this.#pump());
  }

  /** For metrics. */
  get use(): PoolUse {
    const { total, busy } = this.#processes;
    return { processes: total, busy, waiting: this.#queue.size + this.#reserved.size };
  }

  /** Of running processes, for tests. */
  get pids(): number[] {
    return this.#processes.pids;
  }

  run(job: Job): Promise<InterpreterOutcome> {
    if (this.#disposed) return Promise.reject(new SandboxLost("the interpreters are closed"));
    if (job.signal.aborted) return Promise.resolve({ status: "timeout" });
    return new Promise((resolve, reject) => {
      const { key } = job.head;
      const abandon = () => this.#abandon(call);
      const owner = job.owner ?? key;
      const call: Call = { job, owner, key, resolve, reject, abandon, passed: 0, lost: false };
      job.signal.addEventListener("abort", abandon, { once: true });
      this.#queue.push(call);
      this.#pump();
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#disposed = true;
    this.#failAll(new SandboxLost("the interpreters are closed"));
    await this.#processes[Symbol.asyncDispose]();
  }

  #pump(): void {
    while (!this.#disposed) {
      const next = this.#queue.next(this.#mayGo);
      const slot = next && this.#processes.free(next.key);
      if (!slot) return this.#grow();
      void this.#dispatch(slot, this.#queue.take(this.#mayGo, slot.last)!);
    }
  }

  /** Who is not known to be quick leaves something to those who are, if there are any. */
  readonly #mayGo = ({ owner }: Call): boolean => {
    if (this.#callers.pace(owner) === "quick") return true;
    const { spare, long, max } = this.#processes;
    return this.#callers.hasQuickOthers(owner) ? spare > this.#left : long < max - this.#left;
  };

  /** Processes for quick callers only, while there are some. */
  get #left(): number {
    return Math.floor(this.#options.size / 2);
  }

  #grow(): void {
    const { ready, starting, total, max } = this.#processes;
    if (ready < this.#options.size && total < max && starting < this.#queue.size) void this.#start();
  }

  /** @param reserved the call that the process is for */
  async #start(reserved?: Call): Promise<void> {
    try {
      const slot = await this.#processes.start();
      this.#failedStarts = 0;
      if (reserved && this.#reserved.delete(reserved)) void this.#dispatch(slot, reserved);
      else this.#release(slot);
    } catch (error) {
      if (reserved && this.#reserved.delete(reserved)) this.#queue.putBack(reserved);
      if (++this.#failedStarts >= MAX_FAILED_STARTS) {
        this.#failAll(new SandboxUnavailable(`interpreter:${this.#options.language}`, (error as Error).message));
        this.#failedStarts = 0;
      }
      this.#pump();
    }
  }

  #release(slot: Slot): void {
    this.#processes.release(slot);
    this.#pump();
  }

  async #dispatch(slot: Slot, call: Call): Promise<void> {
    const { job, owner, key } = call;
    const started = performance.now();
    job.signal.removeEventListener("abort", call.abandon);
    slot.state = "busy";
    slot.quick = this.#callers.pace(owner) === "quick";
    slot.long = this.#callers.pace(owner) === "slow";
    let expired = false;
    const { graceMs, loadMs } = this.#options;
    const limitMs = job.head.limits.timeMs + graceMs;
    const longMs = Math.min(limitMs, slot.known.has(key) ? LONG_MS : LONG_MS + loadMs);
    using watchdog = new Watchdog(
      { longMs, limitMs, signal: job.signal },
      {
        onLong: () => {
          slot.long = true;
          slot.quick = false;
          this.#pump();
        },
        onOver: () => {
          expired = true;
          slot.child.kill();
        },
        heard: () => slot.child.heard(),
      },
    );
    const answer = await this.#ask(slot, job, watchdog);
    this.#callers.note(owner, performance.now() - started > longMs);
    // An answer may be on its way while the process is killed.
    if ("outcome" in answer) this.#answered(slot, call, expired ? { ...answer, retire: true } : answer);
    else this.#ended(slot, call, answer, expired);
  }

  async #ask(slot: Slot, { head, text, args, state }: Job, watchdog: Watchdog): Promise<Outcome | Exit> {
    let full = !slot.known.has(head.key);
    let fresh = false;
    slot.known.add(head.key);
    slot.last = head.key;
    for (;;) {
      const request = {
        ...head,
        ...(full && { program: text.program, modules: text.modules }),
        ...(fresh && { fresh }),
      };
      const parts = await slot.child.ask([JSON.stringify(request), args, state ?? ""]);
      if (!Array.isArray(parts)) return parts;
      const answer = read(parts);
      if ("outcome" in answer) return answer;
      if (answer.wants === "fresh" ? fresh : full) return lies;
      if (answer.wants === "fresh") fresh = true;
      else full = true;
      watchdog.restart();
    }
  }

  #answered(slot: Slot, call: Call, { outcome, retire }: Outcome): void {
    if (!retire) this.#release(slot);
    else if (outcome.status === "outOfMemory" && this.#isCrowded(slot)) return this.#runAlone(slot, call);
    else this.#replace(slot);
    call.resolve(outcome);
  }

  #ended(slot: Slot, call: Call, exit: Exit, expired: boolean): void {
    const outcome: InterpreterOutcome | undefined = expired ? { status: "timeout" } : outcomeOfExit(exit);
    if (outcome?.status === "outOfMemory" && this.#isCrowded(slot)) return this.#runAlone(slot, call);
    this.#replace(slot);
    if (this.#disposed && !expired) call.reject(new SandboxLost("the interpreters were closed during the call"));
    else if (outcome) call.resolve(outcome);
    // Not the program's: an operator or the kernel took the process. The call is pure, so it may run again; once.
    else if (call.lost) call.reject(new SandboxLost(`an interpreter process was killed twice: ${describeExit(exit)}`));
    else {
      call.lost = true;
      if (this.#waitsAgain(call)) this.#queue.putBack(call);
      this.#pump();
    }
  }

  /** Other programs have been in the process and may have left something behind. */
  #isCrowded(slot: Slot): boolean {
    return !this.#disposed && slot.known.size > 1;
  }

  /** Once more, in a process where all the memory is its own, before a program is told that it needs too much. */
  #runAlone(slot: Slot, call: Call): void {
    const waits = this.#waitsAgain(call);
    if (waits) this.#reserved.add(call);
    this.#replace(slot, waits ? call : undefined);
  }

  /** @returns false when nobody waits for it any more */
  #waitsAgain(call: Call): boolean {
    const { signal } = call.job;
    if (signal.aborted) call.resolve({ status: "timeout" });
    else signal.addEventListener("abort", call.abandon, { once: true });
    return !signal.aborted;
  }

  #abandon(call: Call): void {
    if (this.#queue.remove(call) || this.#reserved.delete(call)) call.resolve({ status: "timeout" });
  }

  #failAll(error: Error): void {
    const calls = [...this.#queue.clear(), ...this.#reserved];
    this.#reserved.clear();
    for (const call of calls) {
      call.job.signal.removeEventListener("abort", call.abandon);
      call.reject(error);
    }
  }

  /** Who lost a process in use will want the next one soon: it starts at once, beside the work of the others. */
  #replace(slot: Slot, reserved?: Call): void {
    this.#processes.end(slot);
    if (this.#disposed) return;
    if (reserved || this.#processes.ready < this.#options.size) void this.#start(reserved);
    this.#pump();
  }
}
