/**
 * The JavaScript engine itself, in a process of its own: `old` has made every call so far, and keeps what it likes to keep;
 * `anew` makes a call as if it were the first one ever. What they answer should never differ.
 */

import { createHash } from "node:crypto";
import { fileURLToPath } from "node:url";
import { Child } from "../../server/sandboxes/child.ts";
import type { ReplyHead } from "../../server/sandboxes/messages.ts";
import type { InterpreterLimits } from "trailgym/env";

export interface EngineCall {
  program: readonly string[];
  entry: string;
  args?: readonly unknown[];
  state?: Buffer | undefined;
  limits?: Partial<InterpreterLimits>;
}

export interface EngineReply {
  head: ReplyHead;
  value: string;
  state: Buffer;
}

export interface OldReply extends EngineReply {
  /** The first answer was not certain, and the call was made a second time, in a new context. */
  again: boolean;
  /** Whether the next call of this program will share a context with others, or why not. */
  shares: boolean | string;
}

const limits: InterpreterLimits = { timeMs: 3_000, memoryMb: 64, outputBytes: 1_000_000, stateBytes: 1_000_000 };

export class Engines implements AsyncDisposable {
  readonly #child = new Child({
    file: fileURLToPath(new URL("./engine-process.ts", import.meta.url)),
    nodeOptions: ["--no-node-snapshot"],
    instance: "test",
  });

  /** A process takes one call at a time. */
  #turn: Promise<unknown> = Promise.resolve();

  static async start(): Promise<Engines> {
    const engines = new Engines();
    await engines.#child.ready;
    return engines;
  }

  async old(call: EngineCall): Promise<OldReply> {
    const { head, value, state } = await this.#ask(call, false);
    const { test, ...rest } = head as ReplyHead & { test: Pick<OldReply, "again" | "shares"> };
    return { head: rest, value, state, ...test };
  }

  anew(call: EngineCall): Promise<EngineReply> {
    return this.#ask(call, true);
  }

  #ask(call: EngineCall, anew: boolean): Promise<EngineReply> {
    const reply = this.#turn.then(() => this.#askNow(call, anew));
    this.#turn = reply.catch(() => undefined);
    return reply;
  }

  async #askNow(call: EngineCall, anew: boolean): Promise<EngineReply> {
    const { program, entry, args = [], state } = call;
    const key = createHash("sha256").update(JSON.stringify(program)).digest("base64");
    const head = { key, program, entry, hasState: state !== undefined, limits: { ...limits, ...call.limits }, anew };
    const reply = await this.#child.ask([JSON.stringify(head), JSON.stringify(args), state ?? ""]);
    if (!Array.isArray(reply)) throw new Error(`the process ended: ${JSON.stringify(reply)}`);
    const [first, value, next] = reply as [Buffer, Buffer, Buffer];
    return { head: JSON.parse(first.toString()) as ReplyHead, value: value.toString(), state: Buffer.from(next) };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#child.kill();
    await this.#child.exited;
  }
}

/** As one text, to be compared word for word. */
export function wordsOf({ head, value, state }: EngineReply): string {
  return `${JSON.stringify(head)}\n${value}\n${state.toString()}`;
}
