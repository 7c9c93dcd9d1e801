/** Is there a socket, and what happens until there is one again? The life of a connection: open, lost, reconnecting, closed. */

import type { JSONRPCResponse } from "json-rpc-2.0";
import { encode, type MethodName, type ParamsOf, protocolVersions, type ResultOf, WireError } from "trailgym/protocol";
import { withPatience } from "./abandon.ts";
import { backoffMs, sleep } from "./backoff.ts";
import { type Batch, byteLength, type Call, type Delivery, deliveryOf } from "./call.ts";
import { ClosedError, ConnectionLost, ProtocolViolation, RequestTooLarge, WrongRole } from "../errors.ts";
import { Heartbeat } from "./heartbeat.ts";
import { incoming, type Progress } from "./incoming.ts";
import { Link, type LinkEnd } from "./link.ts";
import { guarded, reconnectDefaults, type Settings } from "../options.ts";
import { Outbox } from "./outbox.ts";
import { readResult } from "./results.ts";
import { version } from "./version.ts";

export interface CallOptions {
  /** Aborting sends `$/cancel`; see {@link withPatience} for what the caller gets. */
  signal?: AbortSignal | undefined;
  /** How far the call is, at most 10 times a second. What it throws is ignored. */
  onProgress?: ((progress: Progress) => void) | undefined;
}

export interface AskOptions extends CallOptions {
  batch?: Batch | undefined;
  delivery?: Delivery;
  /** Before anybody else hears of it: the raw result, or undefined when the call failed. */
  onSettled?: (call: Call, raw: { readonly result: unknown } | undefined) => void;
}

export interface Asked<N extends MethodName> {
  readonly call: Call;
  readonly reply: Promise<ResultOf<N>>;
}

const closeTimeoutMs = 2000;

/** Containers around params: the batch and the request. They count for the server's MAX_DEPTH. */
const envelopeDepth = 2;

export class Connection {
  readonly settings: Settings;
  /** Sessions that each new socket holds again. */
  readonly held = new Set<string>();
  readonly #outbox = new Outbox();
  readonly #ending = new AbortController();
  #link: Link | undefined;
  #heartbeat: Heartbeat | undefined;
  #welcome: ResultOf<"initialize"> | undefined;
  #nextId = 1;
  /** Attempts since a call was last answered. */
  #attempts = 0;
  #openedAt = 0;
  #ended = false;
  #closing: Promise<void> | undefined;

  private constructor(settings: Settings) {
    this.settings = settings;
  }

  /** @throws ConnectionLost, a WireError of `initialize`, or the signal's reason. */
  static async connect(settings: Settings, signal: AbortSignal | undefined): Promise<Connection> {
    const connection = new Connection(settings);
    const onAbort = () => connection.#ending.abort(signal?.reason);
    if (signal?.aborted === true) onAbort();
    signal?.addEventListener("abort", onAbort, { once: true });
    try {
      await connection.#establishWithin(settings.connectAttempts);
      connection.#attempts = 0;
      return connection;
    } finally {
      signal?.removeEventListener("abort", onAbort);
    }
  }

  /** What the server said of itself when this client last connected. */
  get welcome(): ResultOf<"initialize"> {
    return this.#welcome as ResultOf<"initialize">;
  }

  get open(): boolean {
    return this.#link?.writable === true;
  }

  get closed(): boolean {
    return this.#ended;
  }

  /**
   * Makes a call; it goes out now, or with its batch, or once there is a socket.
   * @throws ClosedError, RequestTooLarge, ValueError (params that cannot cross the wire) or the signal's reason; then
   * nothing was sent.
   */
  ask<N extends MethodName>(method: N, params: ParamsOf<N>, options: AskOptions = {}): Asked<N> {
    if (this.#ended) throw new ClosedError("client");
    const { signal, onSettled } = options;
    signal?.throwIfAborted();
    const call = this.#callOf(method, params, options);
    const answered = this.#outbox.ask(call).then(
      (result) => {
        onSettled?.(call, { result });
        return readResult(method, result, this.welcome.role);
      },
      (error: unknown) => {
        onSettled?.(call, undefined);
        throw error;
      },
    );
    const { timeoutMs } = params as { timeoutMs?: number };
    const patience = { signal, timeoutMs, graceMs: this.settings.cancelGraceMs };
    return { call, reply: withPatience(call, answered, this.#outbox, patience) };
  }

  send(batch: Batch): void {
    this.#outbox.send(batch);
  }

  /** Ends everything; unanswered calls get ClosedError. Again: waits for the first. */
  close(error?: Error): Promise<void> {
    return (this.#closing ??= this.#shut(error));
  }

  async #shut(error: Error | undefined): Promise<void> {
    this.#ended = true;
    const link = this.#link;
    this.#ending.abort(new ClosedError("client"));
    this.#outbox.failAll(error ?? new ClosedError("client"));
    await link?.close(closeTimeoutMs);
    this.settings.onStateChange({ state: "closed", ...(error === undefined ? {} : { error }) });
  }

  #callOf(method: string, params: object, options: AskOptions): Call {
    const id = this.#nextId++;
    const text = JSON.stringify({ jsonrpc: "2.0", id, method, params: encode(params, "", envelopeDepth) });
    const bytes = byteLength(text);
    const limit = this.#welcome?.limits.maxMessageBytes ?? Infinity;
    // Sent, it could end the socket for every other call, and again after each reconnect.
    if (bytes > limit) throw new RequestTooLarge(method, bytes, limit);
    return {
      id,
      method,
      text,
      bytes,
      delivery: options.delivery ?? deliveryOf(method, params),
      batch: options.batch,
      onProgress: guarded(options.onProgress),
      written: false,
      everWritten: false,
      cancelled: false,
      abandoned: false,
      failure: undefined,
    };
  }

  /** Tries until it works, at most `maxAttempts` times in a row. @throws the last error, or one that trying again cannot mend. */
  async #establishWithin(maxAttempts: number): Promise<void> {
    const { signal } = this.#ending;
    for (;;) {
      this.#attempts++;
      try {
        return await this.#establish(signal);
      } catch (error) {
        signal.throwIfAborted();
        if (isFinal(error) || this.#attempts >= maxAttempts) throw error;
        await this.#wait(this.#attempts, retryAfterMs(error));
      }
    }
  }

  async #reconnect(maxAttempts: number): Promise<void> {
    try {
      if (performance.now() - this.#openedAt >= (this.settings.reconnect?.maxDelayMs ?? 0)) this.#attempts = 0;
      if (this.#attempts >= maxAttempts) throw new Error("each new socket was lost before it answered a call");
      await this.#wait(this.#attempts, 0);
      await this.#establishWithin(maxAttempts);
    } catch (error) {
      if (this.#ended) return;
      const { url } = this.settings;
      const why = error instanceof Error ? error.message : String(error);
      const gaveUp = new ConnectionLost(`gave up reconnecting to ${url}: ${why}`, { cause: error });
      await this.close(isFinal(error) ? (error as Error) : gaveUp);
    }
  }

  async #wait(attemptsBefore: number, atLeastMs: number): Promise<void> {
    const attempt = attemptsBefore + 1;
    const { reconnect = reconnectDefaults, onStateChange } = this.settings;
    const delayMs = Math.max(atLeastMs, backoffMs(attempt, reconnect, Math.random()));
    if (this.#welcome !== undefined) onStateChange({ state: "reconnecting", attempt, delayMs });
    await sleep(delayMs, this.#ending.signal);
  }

  /** One attempt: upgrade, `initialize`, attach, resend. */
  async #establish(ending: AbortSignal): Promise<void> {
    const { url, WebSocket, connectTimeoutMs, heartbeatMs } = this.settings;
    const attempt = new AbortController();
    const onEnding = () => attempt.abort(ending.reason);
    ending.throwIfAborted();
    ending.addEventListener("abort", onEnding, { once: true });
    const late = () => attempt.abort(new ConnectionLost(`${url} did not answer within ${connectTimeoutMs} ms`));
    const timer = setTimeout(late, connectTimeoutMs);
    try {
      const listener = { onFrame: (data: unknown) => this.#receive(data), onEnd: (end: LinkEnd) => this.#lost(end) };
      const link = await Link.open(url, WebSocket, listener, attempt.signal);
      this.#link = link;
      attempt.signal.addEventListener("abort", () => link.drop("the handshake was given up"), { once: true });
      this.#welcome = await this.#initialize(link);
      if (!link.writable) throw new ConnectionLost("the socket was lost in its handshake");
      this.#openedAt = performance.now();
      this.#heartbeat = new Heartbeat(
        heartbeatMs,
        () => this.#background("ping", {}),
        () => link.drop(`nothing heard for ${2 * heartbeatMs} ms`),
      );
      this.#outbox.open(link, this.#welcome.limits);
      this.#attachAll();
      this.#outbox.flush();
      this.settings.onStateChange({ state: "open", instance: this.#welcome.server.instance });
    } catch (error) {
      this.#link?.drop("the handshake failed");
      throw attempt.signal.aborted ? attempt.signal.reason : error;
    } finally {
      clearTimeout(timer);
      ending.removeEventListener("abort", onEnding);
    }
  }

  async #initialize(link: Link): Promise<ResultOf<"initialize">> {
    const { token, traceparent, name, role } = this.settings;
    const params = {
      protocolVersions: [...protocolVersions],
      client: { name, version },
      ...(token === undefined ? {} : { token }),
      ...(traceparent === undefined ? {} : { traceparent }),
    };
    const call = this.#callOf("initialize", params, { delivery: "link" });
    const answered = this.#outbox.ask(call);
    this.#outbox.writeNow(call, link);
    const welcome = readResult("initialize", await answered, "observer");
    if (!(protocolVersions as readonly string[]).includes(welcome.protocolVersion)) {
      throw new ProtocolViolation("the server chose a protocol version that was not offered", welcome.protocolVersion);
    }
    if (role !== undefined && welcome.role !== role) throw new WrongRole(role, welcome.role);
    return welcome;
  }

  /** The leases first: a session must not run out while older calls are sent again. */
  #attachAll(): void {
    const batch: Batch = { open: true, calls: [] };
    for (const session of this.held) this.#background("session/attach", { session }, batch);
    this.#outbox.send(batch);
  }

  /** Nobody waits for it. A session that is gone says so to its own next call. */
  #background<N extends MethodName>(method: N, params: ParamsOf<N>, batch?: Batch): void {
    this.#outbox.ask(this.#callOf(method, params, { delivery: "link", batch })).catch(() => undefined);
  }

  #lost({ code, reason }: LinkEnd): void {
    const wasOpen = this.#heartbeat !== undefined;
    this.#heartbeat?.stop();
    this.#heartbeat = undefined;
    this.#link = undefined;
    if (this.#ended) return;
    const why = `the socket was lost (${code}${reason === "" ? "" : `, ${reason}`})`;
    this.#outbox.lost(why);
    // During a handshake the attempt's own loop goes on.
    if (!wasOpen) return;
    const { reconnect, onStateChange } = this.settings;
    onStateChange({ state: "lost", code, reason });
    if (reconnect === undefined) void this.close(new ConnectionLost(why));
    else void this.#reconnect(reconnect.maxAttempts);
  }

  #receive(data: unknown): void {
    this.#heartbeat?.heard();
    let garbage = false;
    for (const item of incoming(data)) {
      if (item.kind === "progress") this.#outbox.progress(item.id, item.progress);
      else if (item.kind === "response") garbage = !this.#answer(item.response) || garbage;
      else if (item.kind === "garbage") {
        this.settings.onViolation(new ProtocolViolation(`the server sent ${item.problem}`, item.received));
        garbage = true;
      }
    }
    // Somebody's answer may have been in it. A new socket and the same calls again bring it, or show that nothing will.
    if (garbage) this.#link?.drop("the server sent what cannot be read");
  }

  /** @returns false when some call will wait for ever unless this socket is given up. */
  #answer(response: JSONRPCResponse): boolean {
    const call = this.#outbox.answer(response);
    if (call !== undefined) {
      if (call.delivery !== "link") this.#attempts = 0;
      return true;
    }
    if (response.id === null && response.error !== undefined) {
      // The server could not tell whose request it was. With one frame under way it is clear.
      if (this.#outbox.failOnlyFrame(response)) return true;
      this.settings.onViolation(new ProtocolViolation("an error for nobody knows which request", response));
      return false;
    }
    // Late, twice, or invented: no call waits for it, so nothing is lost with it.
    this.settings.onViolation(new ProtocolViolation("a reply that no call waits for", response));
    return true;
  }
}

/** Trying again, the server would say the same. */
function isFinal(error: unknown): boolean {
  if (error instanceof WireError) return !error.retryable;
  return error instanceof ProtocolViolation || error instanceof WrongRole;
}

function retryAfterMs(error: unknown): number {
  const wait = error instanceof WireError ? error.data["retryAfterMs"] : undefined;
  return typeof wait === "number" ? wait : 0;
}
