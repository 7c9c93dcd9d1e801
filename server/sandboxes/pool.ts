/** Which process takes which call, and what happens to it when its time is up? */

import { SandboxLost, SandboxUnavailable, type InterpreterOutcome, type Language } from "trailgym/env";
import { Child, describeExit, type ChildCommand, type Exit } from "./child.ts";
import { OUT_OF_MEMORY_SIGNAL, type ReplyHead, type RequestHead } from "./messages.ts";
import type { ProgramText } from "./programs.ts";

export interface PoolOptions {
  language: Language;
  command: ChildCommand;
  /** Processes at most. None starts before the first call. */
  size: number;
  /** A process that had nothing to do for so long is ended; 0 keeps it. */
  idleMs: number;
  /** How long after its deadline a call is left to end by itself, which spares the process. */
  graceMs: number;
  /** How long a process may take to start. */
  startMs: number;
}

export interface Job {
  head: Omit<RequestHead, "program" | "modules">;
  text: ProgramText;
  args: string;
  state: Uint8Array | undefined;
  signal: AbortSignal;
}

interface Queued extends Job {
  resolve(outcome: InterpreterOutcome): void;
  reject(error: Error): void;
  abandon: () => void;
  /** How often a later call went first because its program was warm. */
  passed: number;
  lost: boolean;
}

interface Slot {
  child: Child;
  state: "starting" | "idle" | "busy" | "dead";
  /** Programs whose text the child has been sent; the last one is loaded. */
  known: Set<string>;
  last: string | undefined;
  idleSince: number;
  idle: NodeJS.Timeout | undefined;
}

const MAX_PASSED = 16;
/** In a row, before the calls that wait are told. */
const MAX_FAILED_STARTS = 3;

export class Pool implements AsyncDisposable {
  readonly #options: PoolOptions;
  readonly #slots = new Set<Slot>();
  readonly #queue: Queued[] = [];
  #disposed = false;
  #failedStarts = 0;

  constructor(options: PoolOptions) {
    this.#options = options;
  }

  /** Of running processes, for metrics and tests. */
  get pids(): number[] {
    return [...this.#slots].flatMap(({ child }) => child.pid ?? []);
  }

  run(job: Job): Promise<InterpreterOutcome> {
    if (this.#disposed) return Promise.reject(new SandboxLost("the interpreters are closed"));
    if (job.signal.aborted) return Promise.resolve({ status: "timeout" });
    return new Promise((resolve, reject) => {
      const queued: Queued = { ...job, resolve, reject, passed: 0, lost: false, abandon: () => this.#abandon(queued) };
      job.signal.addEventListener("abort", queued.abandon, { once: true });
      this.#queue.push(queued);
      this.#pump();
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#disposed = true;
    for (const queued of this.#queue.splice(0)) this.#fail(queued, new SandboxLost("the interpreters are closed"));
    const slots = [...this.#slots];
    for (const slot of slots) this.#retire(slot);
    await Promise.all(slots.map((slot) => slot.child.exited));
  }

  #pump(): void {
    while (this.#queue.length > 0) {
      const slot = this.#freeSlot();
      if (!slot) return this.#grow();
      void this.#dispatch(slot, this.#take(slot));
    }
  }

  /** The process where the first call's program is loaded; among equals the one that had the longest time to prepare. */
  #freeSlot(): Slot | undefined {
    const { key } = this.#queue[0]!.head;
    const warmth = (slot: Slot) => (slot.last === key ? 2 : slot.known.has(key) ? 1 : 0);
    let best: Slot | undefined;
    for (const slot of this.#slots) {
      if (slot.state !== "idle") continue;
      if (!best || warmth(slot) > warmth(best) || (warmth(slot) === warmth(best) && slot.idleSince < best.idleSince)) {
        best = slot;
      }
    }
    return best;
  }

  /** The first call, unless a later one finds its program loaded; nobody is passed over for ever. */
  #take(slot: Slot): Queued {
    const first = this.#queue[0]!;
    const warm = first.passed < MAX_PASSED ? this.#queue.findIndex(({ head }) => head.key === slot.last) : 0;
    if (warm > 0) first.passed++;
    return this.#queue.splice(Math.max(warm, 0), 1)[0]!;
  }

  #grow(): void {
    const starting = [...this.#slots].filter(({ state }) => state === "starting").length;
    if (this.#slots.size < this.#options.size && starting < this.#queue.length) this.#start();
  }

  #start(): void {
    const child = new Child(this.#options.command);
    const slot: Slot = { child, state: "starting", known: new Set(), last: undefined, idleSince: 0, idle: undefined };
    this.#slots.add(slot);
    const late = setTimeout(() => child.kill(), this.#options.startMs);
    child.ready
      .finally(() => clearTimeout(late))
      .then(
        () => {
          this.#failedStarts = 0;
          void child.exited.then(() => this.#forget(slot));
          this.#free(slot);
        },
        (error: Error) => this.#didNotStart(slot, error),
      );
  }

  #didNotStart(slot: Slot, error: Error): void {
    const { language } = this.#options;
    if (++this.#failedStarts >= MAX_FAILED_STARTS) {
      const failure = new SandboxUnavailable(`interpreter:${language}`, error.message);
      for (const queued of this.#queue.splice(0)) this.#fail(queued, failure);
      this.#failedStarts = 0;
    }
    this.#forget(slot);
  }

  #free(slot: Slot): void {
    if (slot.state === "dead") return;
    slot.state = "idle";
    slot.idleSince = performance.now();
    if (this.#options.idleMs > 0) {
      slot.idle ??= setTimeout(() => slot.state === "idle" && this.#retire(slot), this.#options.idleMs).unref();
      slot.idle.refresh();
    }
    this.#pump();
  }

  async #dispatch(slot: Slot, job: Queued): Promise<void> {
    slot.state = "busy";
    job.signal.removeEventListener("abort", job.abandon);
    let expired = false;
    const expire = () => {
      expired = true;
      this.#retire(slot);
    };
    job.signal.addEventListener("abort", expire, { once: true });
    const watchdog = setTimeout(expire, job.head.limits.timeMs + this.#options.graceMs);
    const answer = await this.#ask(slot, job);
    clearTimeout(watchdog);
    job.signal.removeEventListener("abort", expire);

    if (Array.isArray(answer)) {
      const { outcome, retire } = read(answer);
      if (retire || expired) this.#replace(slot);
      else this.#free(slot);
      job.resolve(expired ? { status: "timeout" } : outcome);
      return;
    }
    this.#replace(slot);
    if (expired) job.resolve({ status: "timeout" });
    else if (this.#disposed) job.reject(new SandboxLost("the interpreters were closed during the call"));
    else if (ofProgram(answer)) job.resolve(outcomeOfExit(answer));
    // Not the program's: an operator or the kernel took the process. The call is pure, so it may run again; once.
    else if (job.lost) job.reject(new SandboxLost(`an interpreter process was killed twice: ${describeExit(answer)}`));
    else this.#again(job);
  }

  async #ask(slot: Slot, { head, text, args, state }: Queued): Promise<Buffer[] | Exit> {
    const known = slot.known.has(head.key);
    slot.known.add(head.key);
    slot.last = head.key;
    const full = () => JSON.stringify({ ...head, program: text.program, modules: text.modules });
    const answer = await slot.child.ask([known ? JSON.stringify(head) : full(), args, state ?? ""]);
    const forgotten =
      known && Array.isArray(answer) && answer[0]!.includes('"unknownProgram"') && answer[1]!.length === 0;
    if (!forgotten || !read(answer).forgotten) return answer;
    return slot.child.ask([full(), args, state ?? ""]);
  }

  #again(job: Queued): void {
    if (job.signal.aborted) return job.resolve({ status: "timeout" });
    job.lost = true;
    job.signal.addEventListener("abort", job.abandon, { once: true });
    this.#queue.unshift(job);
    this.#pump();
  }

  #abandon(job: Queued): void {
    const index = this.#queue.indexOf(job);
    if (index < 0) return;
    this.#queue.splice(index, 1);
    job.resolve({ status: "timeout" });
  }

  #fail(job: Queued, error: Error): void {
    job.signal.removeEventListener("abort", job.abandon);
    job.reject(error);
  }

  #retire(slot: Slot): void {
    slot.state = "dead";
    clearTimeout(slot.idle);
    slot.child.kill();
  }

  /** Who lost a process in use will want the next one soon: it starts at once, beside the work of the others. */
  #replace(slot: Slot): void {
    this.#retire(slot);
    this.#forget(slot);
    if (!this.#disposed && this.#slots.size < this.#options.size) this.#start();
  }

  #forget(slot: Slot): void {
    slot.state = "dead";
    clearTimeout(slot.idle);
    if (this.#slots.delete(slot) && !this.#disposed) this.#pump();
  }
}

/** What a process answered. A program may have taken over the code that writes it; then nothing of it is believed. */
function read([head, value, state]: Buffer[]): { outcome: InterpreterOutcome; retire: boolean; forgotten: boolean } {
  try {
    const reply = JSON.parse(head!.toString()) as ReplyHead;
    const outcome = outcomeOf(reply, value!, state!) as InterpreterOutcome | undefined;
    if (outcome === undefined) throw new TypeError(`unknown status ${String(reply.status)}`);
    return { outcome, retire: reply.retire === true, forgotten: reply.status === "unknownProgram" };
  } catch {
    const message = "the program broke the code that runs it";
    return { outcome: { status: "crashed", message }, retire: true, forgotten: false };
  }
}

function outcomeOf(head: ReplyHead, value: Buffer, state: Buffer): InterpreterOutcome {
  const { status } = head;
  switch (status) {
    case "ok":
      // The state outlives the frame that it came in, which may be much larger.
      return {
        status,
        value: JSON.parse(value.toString()) as unknown,
        state: Uint8Array.from(state),
        output: head.output,
      };
    case "raised":
      return { status, error: head.error, output: head.output };
    case "unencodable":
    case "crashed":
      return { status, message: head.message };
    case "timeout":
    case "outOfMemory":
    case "outputTooLarge":
    case "stateTooLarge":
      return { status };
    case "unknownProgram":
      return { status: "crashed", message: "the process lost the program it was sent" };
  }
}

/** Signals by which V8 or a program that broke it ends a process. Any other came from outside. */
const crashes: ReadonlySet<string> = new Set(["SIGABRT", "SIGSEGV", "SIGILL", "SIGTRAP", "SIGBUS", "SIGFPE"]);

function ofProgram({ signal }: Exit): boolean {
  return signal === null || signal === OUT_OF_MEMORY_SIGNAL || crashes.has(signal);
}

function outcomeOfExit(exit: Exit): InterpreterOutcome {
  const outOfMemory =
    exit.signal === OUT_OF_MEMORY_SIGNAL || /out of memory|invalid table size|allocation failed/i.test(exit.stderr);
  return outOfMemory ? { status: "outOfMemory" } : { status: "crashed", message: describeExit(exit) };
}
