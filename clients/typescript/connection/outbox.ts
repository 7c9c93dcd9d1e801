/** Which calls are unanswered, and what becomes of each when it is answered, cancelled, or its socket is lost? */

import { createJSONRPCErrorResponse, JSONRPCClient, type JSONRPCResponse } from "json-rpc-2.0";
import { errorObject, WireError } from "trailgym/protocol";
import type { Batch, Call } from "./call.ts";
import { ConnectionLost, ProtocolViolation } from "../errors.ts";
import { framesOf, frameText, type FrameLimits } from "./frames.ts";
import type { Progress } from "./incoming.ts";

/** What the outbox may write to right now. */
export interface Channel {
  readonly writable: boolean;
  send(text: string): void;
}

export class Outbox {
  /** In the order in which they were made, which is the order in which they are sent again. */
  readonly #calls = new Map<unknown, Call>();
  /** Pairs replies with promises by id. What may be sent when is decided here, not there. */
  readonly #rpc = new JSONRPCClient<Call>((_request, call) => this.#offer(call));
  #channel: Channel | undefined;
  /** After an error that might be about any of several frames: the next one goes out when the last is answered. */
  #oneByOne = false;
  #limits: FrameLimits = { maxMessageBytes: Infinity, maxBatch: 1 };

  /** Resolves to the raw result. Rejects with the server's WireError, or with what {@link fail} was given. */
  async ask(call: Call): Promise<unknown> {
    this.#calls.set(call.id, call);
    const response = await this.#rpc.requestAdvanced({ jsonrpc: "2.0", id: call.id, method: call.method }, call);
    if (call.failure !== undefined) throw call.failure.reason;
    if (response.error === undefined) return response.result;
    throw errorOf(response, call.method);
  }

  /** A new socket is initialised: calls made from now on go out at once. */
  open(channel: Channel, limits: FrameLimits): void {
    this.#channel = channel;
    this.#limits = limits;
  }

  /** Everything unanswered goes out, oldest first. */
  flush(): void {
    const unsent = [...this.#calls.values()].filter((call) => !call.written && call.batch?.open !== true);
    if (unsent.length === 0) this.#oneByOne = false;
    this.#write(unsent);
  }

  /** The socket is gone. What must not be sent twice fails; the rest waits for {@link open}. */
  lost(reason: string): void {
    this.#channel = undefined;
    for (const call of [...this.#calls.values()]) {
      if (call.delivery === "link") this.fail(call, new ConnectionLost(reason));
      else if (call.abandoned && call.delivery === "read") this.fail(call, new ConnectionLost(reason));
      else if (call.written && call.delivery === "once") {
        this.fail(call, new ConnectionLost(`${reason} before ${call.method} was answered; it may have been executed`));
      } else call.written = false;
    }
  }

  /** Sends what was collected in `batch`, in as few frames as the limits allow. */
  send(batch: Batch): void {
    batch.open = false;
    this.#write(batch.calls.filter((call) => this.#calls.has(call.id)));
  }

  /** Writes a call of the handshake, which may not wait for {@link open}. */
  writeNow(call: Call, channel: Channel): void {
    call.written = call.everWritten = true;
    channel.send(call.text);
  }

  /** @returns the call that this answers; undefined when no unanswered call has such an id. */
  answer(response: JSONRPCResponse): Call | undefined {
    const call = this.#calls.get(response.id);
    if (call === undefined || !call.written) return undefined;
    this.#calls.delete(call.id);
    this.#rpc.receive(response);
    if (this.#oneByOne) this.flush();
    return call;
  }

  progress(id: unknown, progress: Progress): void {
    const call = this.#calls.get(id);
    if (call?.abandoned === false) call.onProgress(progress);
  }

  /** Asks the server to end the call. A call it cannot know of ends here and now, with `reason`. */
  cancel(call: Call, reason: unknown): void {
    if (!this.#calls.has(call.id)) return;
    if (!call.everWritten) return this.fail(call, reason);
    call.cancelled = true;
    if (call.written) this.#cancelFrame(call);
  }

  fail(call: Call, reason: unknown): void {
    if (!this.#calls.delete(call.id)) return;
    call.failure = { reason };
    this.#rpc.receive(createJSONRPCErrorResponse(call.id, 0, ""));
    if (this.#oneByOne) this.flush();
  }

  failAll(reason: unknown): void {
    this.#channel = undefined;
    for (const call of [...this.#calls.values()]) this.fail(call, reason);
  }

  /**
   * Fails the calls of the one unanswered frame with an error that names no id.
   * @returns false when there are several frames; on the next socket they go out one by one, and the next such error is clear.
   */
  failOnlyFrame(response: JSONRPCResponse): boolean {
    const written = [...this.#calls.values()].filter((call) => call.written);
    const callers = written.filter((call) => call.delivery !== "link");
    const suspects = callers.length > 0 ? callers : written;
    const [first] = suspects;
    const one = suspects.length === 1 || suspects.every(({ batch }) => batch !== undefined && batch === first?.batch);
    if (first === undefined || !one) {
      this.#oneByOne = true;
      return false;
    }
    const error = errorOf(response, first.method);
    for (const call of suspects) this.fail(call, error);
    return true;
  }

  get #underWay(): boolean {
    return [...this.#calls.values()].some((call) => call.written && call.delivery !== "link");
  }

  #offer(call: Call): void {
    if (call.batch?.open === true) call.batch.calls.push(call);
    else if (call.delivery !== "link" || this.#channel !== undefined) this.#write([call]);
  }

  #write(calls: readonly Call[]): void {
    for (const frame of framesOf(calls, this.#limits)) {
      // A call that finds no socket stays unwritten, so that even a `once` call may go out on the next one.
      if (this.#channel?.writable !== true) return;
      if (this.#oneByOne && this.#underWay) return;
      for (const call of frame) call.written = call.everWritten = true;
      this.#channel.send(frameText(frame));
      for (const call of frame) if (call.cancelled) this.#cancelFrame(call);
    }
  }

  #cancelFrame(call: Call): void {
    if (this.#channel?.writable !== true) return;
    this.#channel.send(JSON.stringify({ jsonrpc: "2.0", method: "$/cancel", params: { id: call.id } }));
  }
}

function errorOf({ error }: JSONRPCResponse, method: string): Error {
  const parsed = errorObject.safeParse(error);
  if (parsed.success) return WireError.fromObject(parsed.data);
  return new ProtocolViolation(`the server answered ${method} with a malformed error`, error);
}
