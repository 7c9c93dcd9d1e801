/** The model that a server lends: retries, a budget, one question for equal ones, and a cache in front of all of it. */

import { setTimeout as sleep } from "node:timers/promises";
import { type Model, type ModelReply, type ModelRequest, ModelUnavailable } from "trailgym/env";
import type { Logger } from "pino";
import { ReplyCache, requestKey } from "./cache.ts";
import { ask, type ChatServer, Retryable } from "./chat.ts";

export interface ModelConfig {
  /** Undefined: only what is in the cache is answered; for runs that must not need a model. */
  server: ChatServer | undefined;
  /** Name in the cache's keys; default that of the server's model. Needed where there is no server. */
  id?: string;
  /** Where replies are kept; undefined: only as long as the process lives. */
  cacheFile?: string;
  /** Of one attempt. Default 30,000. */
  timeoutMs?: number;
  /** Attempts after the first, each 2^k × `backoffMs` later. Default 3. */
  retries?: number;
  /** Default 1,000. */
  backoffMs?: number;
  /** Requests sent over the process's life, retries included. Default: no limit. */
  maxRequests?: number;
  /** At once; more wait. Default 8. */
  maxConcurrent?: number;
}

export interface LentModel extends Model, AsyncDisposable {
  /** Since the start. */
  readonly counts: Readonly<{ asked: number; cached: number; requests: number; failed: number }>;
}

/** A question that is being asked, for all who wait for it. It is given up when nobody does any more. */
interface Flight {
  reply: Promise<string>;
  abort: AbortController;
  waiting: number;
}

/** @throws Error when the cache's file cannot be read. */
export async function createModel(config: ModelConfig, log: Logger): Promise<LentModel> {
  const {
    server,
    timeoutMs = 30_000,
    retries = 3,
    backoffMs = 1_000,
    maxRequests = Infinity,
    maxConcurrent = 8,
  } = config;
  const id = config.id ?? server?.model ?? "recorded";
  const cache = await ReplyCache.open(config.cacheFile);
  if (cache.skipped > 0)
    log.warn({ file: config.cacheFile, lines: cache.skipped }, "lines of the model's cache were skipped");
  const counts = { asked: 0, cached: 0, requests: 0, failed: 0 };
  const flights = new Map<string, Flight>();
  const places = new Places(maxConcurrent);

  return {
    id,
    counts,
    async complete(request, signal): Promise<ModelReply> {
      signal.throwIfAborted();
      counts.asked++;
      const key = requestKey(id, request);
      const known = cache.get(key);
      if (known !== undefined) {
        counts.cached++;
        return { text: known, cached: true };
      }
      if (server === undefined)
        throw new ModelUnavailable("notRecorded", "no model is configured, and this was not recorded");
      return { text: await joined(key, server, request, signal), cached: false };
    },
    async [Symbol.asyncDispose]() {
      const ending = [...flights.values()];
      for (const { abort } of ending) abort.abort(new Error("the server is shutting down"));
      await Promise.allSettled(ending.map(({ reply }) => reply));
    },
  };

  async function joined(key: string, chat: ChatServer, request: ModelRequest, signal: AbortSignal): Promise<string> {
    const known = flights.get(key);
    const flight = known === undefined || known.abort.signal.aborted ? begin(key, chat, request) : known;
    flight.waiting++;
    const gone = Promise.withResolvers<never>();
    const leave = () => gone.reject(signal.reason as Error);
    signal.addEventListener("abort", leave, { once: true });
    try {
      return await Promise.race([flight.reply, gone.promise]);
    } finally {
      signal.removeEventListener("abort", leave);
      if (--flight.waiting === 0) flight.abort.abort(new Error("nobody waits for the reply any more"));
    }
  }

  function begin(key: string, chat: ChatServer, request: ModelRequest): Flight {
    const abort = new AbortController();
    const reply = places
      .held(abort.signal, () => persistently(chat, request, abort.signal))
      .then(kept, (error) => {
        counts.failed++;
        throw error;
      });
    const flight = { reply, abort, waiting: 0 };
    flights.set(key, flight);
    const landed = () => {
      if (flights.get(key) === flight) flights.delete(key);
    };
    // Whoever waits hears of a failure; when nobody does any more, nobody need.
    reply.then(landed, landed);
    return flight;

    async function kept(text: string): Promise<string> {
      await cache.add(key, id, text).catch((error: unknown) => {
        log.error({ err: error, file: config.cacheFile }, "a reply could not be written to the model's cache");
      });
      return text;
    }
  }

  async function persistently(chat: ChatServer, request: ModelRequest, signal: AbortSignal): Promise<string> {
    for (let attempt = 0; ; attempt++) {
      if (counts.requests >= maxRequests) {
        throw new ModelUnavailable("budget", `the ${maxRequests} requests that are allowed have been sent`);
      }
      counts.requests++;
      try {
        return await ask(chat, request, timeoutMs, signal);
      } catch (error) {
        if (!(error instanceof Retryable) || attempt >= retries) throw error;
        log.warn({ model: id, attempt, failure: error.failure, reason: error.message }, "the model is asked again");
        await sleep(error.retryAfterMs ?? 2 ** attempt * backoffMs, undefined, { signal }).catch(() =>
          signal.throwIfAborted(),
        );
      }
    }
  }
}

/** So many at once, the others in turn. */
class Places {
  #free: number;
  readonly #waiting: (() => void)[] = [];

  constructor(count: number) {
    this.#free = count;
  }

  async held<T>(signal: AbortSignal, work: () => Promise<T>): Promise<T> {
    if (this.#free > 0) this.#free--;
    else await new Promise<void>((resolve) => this.#waiting.push(resolve));
    try {
      signal.throwIfAborted();
      return await work();
    } finally {
      const next = this.#waiting.shift();
      if (next) next();
      else this.#free++;
    }
  }
}
