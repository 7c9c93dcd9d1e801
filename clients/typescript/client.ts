/** What can be asked of a server over one connection? */

import type { Autoreset, EnvEntry, MethodName, ParamsOf, ResultOf } from "trailgym/protocol";
import type { AgentClient } from "./agent.ts";
import { whenThereIsRoom, type CapacityOptions } from "./capacity.ts";
import type { Batch, Call } from "./connection/call.ts";
import { before } from "./connection/backoff.ts";
import { type CallOptions, Connection } from "./connection/connection.ts";
import { type ConnectOptions, settingsOf } from "./options.ts";
import { pages } from "./pages.ts";
import { idOf, Session, type SnapshotRef } from "./session.ts";
import { VectorEnv } from "./vector.ts";

export interface MakeOptions extends CapacityOptions {
  /** The environment's options, for every reset of the session. */
  options?: Record<string, unknown> | undefined;
  /** 1000 ms to 7 days: a session that nobody calls or holds for this long is closed. Default the server's. */
  leaseMs?: number | undefined;
  /** Deadline of each reset, step and restore, 1 to 86 400 000 ms. Default the server's. */
  stepTimeoutMs?: number | undefined;
  /** What happens after an episode's end. Default `disabled`: a step is RESET_NEEDED. */
  autoreset?: Autoreset | undefined;
  /** `end`: `stateDigest` only at reset and at the episode's end. Default `step`: in every reply. */
  digest?: "step" | "end" | undefined;
  /** Where the server is full: true (default) waits in its queue, and `onProgress` is told the `position`; false has CAPACITY at once. */
  wait?: boolean | undefined;
}

export interface TasksOptions extends CallOptions {
  /** Default: all splits. */
  split?: string | undefined;
  /** At most this many tasks in all. Default: every task. */
  limit?: number | undefined;
}

/** How long `close` waits for the server to close the sessions that this client made. */
const farewellMs = 2000;

/**
 * Connects and agrees on a protocol version.
 * @param url such as `ws://127.0.0.1:7474/rpc`
 * @throws ConnectionLost when no socket opens; WireError UNAUTHENTICATED or UNSUPPORTED_VERSION; WrongRole; the signal's
 * reason.
 */
export function connect(url: string, options: ConnectOptions & { role: "agent" }): Promise<AgentClient>;
export function connect(url: string, options?: ConnectOptions): Promise<Client>;
export async function connect(url: string, options: ConnectOptions = {}): Promise<Client> {
  return new Client(await Connection.connect(settingsOf(url, options), options.signal));
}

/** One connection and the sessions on it. Any number of sessions share it, and their calls run side by side. */
export class Client implements AsyncDisposable {
  readonly #connection: Connection;
  readonly #own = new Set<Session>();
  /** Every session of this connection. */
  readonly #given = new WeakSet<Session>();
  #closing: Promise<void> | undefined;

  /** Use {@link connect}. */
  constructor(connection: Connection) {
    this.#connection = connection;
  }

  /** Server, role, capabilities and limits, as of the last (re)connection. */
  get welcome(): ResultOf<"initialize"> {
    return this.#connection.welcome;
  }

  /**
   * Opens a session. Nothing runs before its `reset`.
   * @throws WireError UNKNOWN_ENV (with `suggestions`), CAPACITY, QUOTA, SANDBOX_UNAVAILABLE. ConnectionLost when the
   * socket broke before the answer: a session may have been made, which its lease closes.
   */
  async make<Observation = unknown, Action = unknown>(
    envId: string,
    options: MakeOptions = {},
  ): Promise<Session<Observation, Action>> {
    const session = await whenThereIsRoom(options, () => this.#make(envId, options));
    return session as Session<Observation, Action>;
  }

  /**
   * Takes up a session of the same principal, made here or elsewhere, at the server's `seq`. This client then keeps its
   * lease alive, but does not close it when disposed.
   */
  async attach<Observation = unknown, Action = unknown>(
    session: string,
    options?: CallOptions,
  ): Promise<Session<Observation, Action>> {
    const { seq } = await this.call("session/attach", { session }, options);
    return this.#session(session, undefined, seq, false) as Session<Observation, Action>;
  }

  /** `n` sessions of one environment, stepped together. All are made, or none: unless asked to, they do not `wait` for room. */
  async vector<Observation = unknown, Action = unknown>(
    envId: string,
    n: number,
    options: MakeOptions = {},
  ): Promise<VectorEnv<Observation, Action>> {
    if (!Number.isInteger(n) || n < 1) throw new RangeError(`a vector has 1 or more environments, not ${n}`);
    const batch: Batch = { open: true, calls: [] };
    // Two vectors that wait for each other's sessions would wait for ever.
    const each = { wait: false, ...options };
    // One that waits for room must not hold the others' frame back.
    const made = Array.from({ length: n }, () => {
      const first = this.#make(envId, each, batch);
      let attempts = 0;
      return whenThereIsRoom(options, () => (attempts++ === 0 ? first : this.#make(envId, each)));
    });
    this.#connection.send(batch);
    const outcomes = await Promise.allSettled(made);
    const sessions = outcomes.flatMap((outcome) => (outcome.status === "fulfilled" ? [outcome.value] : []));
    const failed = outcomes.find((outcome) => outcome.status === "rejected");
    if (failed !== undefined) {
      await Promise.allSettled(sessions.map((session) => session.close()));
      throw failed.reason;
    }
    return this.vectorOf(sessions as Session<Observation, Action>[]);
  }

  /**
   * Sessions that are there already, stepped together from now on: forks of one value, or sessions of several environments.
   * @throws TypeError for a session of another client, or one that is there twice: each environment has one action.
   */
  vectorOf<Observation = unknown, Action = unknown>(
    sessions: readonly Session<Observation, Action>[],
  ): VectorEnv<Observation, Action> {
    if (new Set(sessions).size < sessions.length) throw new TypeError("a vector has each session once");
    const foreign = sessions.find((session) => !this.#given.has(session as Session));
    if (foreign !== undefined) throw new TypeError(`session ${foreign.id} is of another client`);
    return new VectorEnv(this.#connection, [...sessions]);
  }

  /**
   * Independent sessions that start from one committed value; the same actions give the same replies.
   * @param source a snapshot (its id, or what `snapshot()` returned) or a session. @param count 1 to 1024
   */
  fork<Observation = unknown, Action = unknown>(
    source: SnapshotRef | Session<Observation, Action>,
    count: number,
    options?: CapacityOptions,
  ): Promise<Session<Observation, Action>[]> {
    if (source instanceof Session) return source.fork(count, options);
    const forked = this.#fork({ snapshot: idOf(source) }, count, options, undefined);
    return forked as Promise<Session<Observation, Action>[]>;
  }

  /** Every environment that the server has. */
  async list(options?: CallOptions): Promise<EnvEntry[]> {
    const envs: EnvEntry[] = [];
    for await (const page of pages((cursor) => this.call("env/list", { cursor }, options))) envs.push(...page.envs);
    return envs;
  }

  /** The tasks of an environment, their public fields only; further pages are fetched as the iteration reaches them. */
  async *tasks(env: string, options: TasksOptions = {}): AsyncGenerator<ResultOf<"env/tasks">["tasks"][number]> {
    const { split, limit = Infinity, ...rest } = options;
    let left = limit;
    const size = left < 1000 ? Math.max(1, left) : undefined;
    const fetch = (cursor: string | undefined) => this.call("env/tasks", { env, split, cursor, limit: size }, rest);
    for await (const page of pages(fetch)) {
      for (const task of page.tasks) {
        if (left-- <= 0) return;
        yield task;
      }
      if (left <= 0) return;
    }
  }

  /**
   * Any method, typed by its schemas. A mutating call without `seq` has no protection: it is not repeated after a lost
   * socket. Sessions made this way are not attached again.
   */
  async call<N extends MethodName>(method: N, params: ParamsOf<N>, options?: CallOptions): Promise<ResultOf<N>> {
    return this.#connection.ask(method, params, options).reply;
  }

  /**
   * Closes the sessions that this client made (detach those that should live on), then the socket; unanswered calls get
   * ClosedError. Does not fail, and without a server does not wait. Again: waits for the first.
   */
  close(): Promise<void> {
    return (this.#closing ??= this.#close());
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #close(): Promise<void> {
    const own = [...this.#own];
    this.#own.clear();
    if (this.#connection.open && own.length > 0) {
      const farewells = Promise.allSettled(own.map((session) => session.close()));
      await before(farewells, AbortSignal.timeout(farewellMs)).catch(() => undefined);
    }
    await this.#connection.close();
  }

  async #make(envId: string, options: MakeOptions, batch?: Batch): Promise<Session> {
    const { retryCapacity: _, signal, onProgress, ...params } = options;
    const made = this.#connection.ask(
      "env/make",
      { env: envId, ...params },
      {
        signal,
        onProgress,
        batch,
        onSettled: (call, raw) => this.#closeAbandoned(call, raw, ({ session }: { session?: string }) => [session]),
      },
    );
    const { session, seq, env } = await made.reply;
    return this.#session(session, env, seq, true);
  }

  async #fork(
    source: { session: string } | { snapshot: string },
    count: number,
    options: CapacityOptions = {},
    env: string | undefined,
  ): Promise<Session[]> {
    const { signal, onProgress } = options;
    const onSettled = (call: Call, raw: { result: unknown } | undefined) =>
      this.#closeAbandoned(call, raw, ({ sessions }: { sessions?: string[] }) => sessions ?? []);
    const { sessions } = await whenThereIsRoom(
      options,
      () => this.#connection.ask("env/fork", { ...source, count }, { signal, onProgress, onSettled }).reply,
    );
    return sessions.map((id) => this.#session(id, env, 0, true));
  }

  /** Nobody will ever use a session that was made after its caller had gone. */
  #closeAbandoned<R>(call: Call, raw: { result: unknown } | undefined, sessionsOf: (result: R) => unknown[]): void {
    if (!call.abandoned || raw === undefined || this.#connection.closed) return;
    for (const session of sessionsOf((raw.result ?? {}) as R)) {
      if (typeof session === "string") this.call("env/close", { session }).catch(() => undefined);
    }
  }

  #session(id: string, env: string | undefined, seq: number, own: boolean): Session {
    const session = new Session({
      connection: this.#connection,
      id,
      env,
      seq,
      own,
      forked: (source, count, options) => this.#fork(source, count, options, env),
      gone: (gone) => this.#own.delete(gone),
    });
    this.#given.add(session);
    if (own) this.#own.add(session);
    return session;
  }
}
