/** A recorded session on both sides of the TypeScript client: who asks it to play, and a server that answers as recorded. */

import { type Client, type Session, WireError } from "trailgym/client";
import type { MethodName } from "trailgym/protocol";
import type { Exchange, Recording } from "../../resources/recordings.ts";
import { type Incoming, scripted, type Scripted } from "./scripted.ts";

export type Said = Pick<Incoming, "method" | "params" | "frame">;

export interface RecordedServer extends AsyncDisposable {
  readonly url: string;
  /** What was said since it was last asked. The ids of the recording are its names themselves. */
  heard(): Said[];
}

/** Answers the n-th request with the n-th recorded answer, whatever it was asked, and what comes after them as usual. */
export async function recordedServer({ exchanges }: Recording): Promise<RecordedServer> {
  const server: Scripted = await scripted();
  const answers = exchanges.flat();
  server.on("initialize", (_request, next) => next());
  server.on("*", (_request, next) => {
    const answer = answers.shift();
    if (answer === undefined) return next();
    if (answer.error !== undefined)
      throw WireError.fromObject(answer.error as Parameters<typeof WireError.fromObject>[0]);
    return answer.result as Record<string, unknown>;
  });
  let heard = 0;
  return {
    url: server.url,
    heard() {
      const all = server.received.filter(({ method }) => method !== "initialize");
      const since = all.slice(heard).map(({ method, params, frame }) => ({ method, params, frame }));
      heard = all.length;
      return since;
    },
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  };
}

/** What the caller got, in the recording's words. `whole`: there is nothing in the result that it does not get. */
export interface Handed {
  result?: unknown;
  error?: unknown;
  whole: boolean;
}

type Params = Record<string, unknown>;
type Verb = (session: Session, params: Params) => Promise<unknown>;

/** The verbs of a session, without what the session itself adds: its id and its `seq`. */
const verbs: Partial<Record<MethodName, Verb>> = {
  "env/reset": (session, params) => session.reset(params),
  "env/step": (session, { action, ...options }) => session.step(action, options),
  "env/restore": (session, { snapshot, ...options }) => session.restore(snapshot as string, options),
  "env/observe": (session) => session.observe(),
  "env/snapshot": (session, { label }) => session.snapshot(label as string | undefined),
  "env/close": async (session) => ({ closed: (await session.close()) === undefined }),
  "session/attach": (session) => session.resync(),
};

export class Player {
  /** Methods that were played by a verb of the client. */
  readonly byVerb = new Set<string>();
  readonly #client: Client;
  /** Those that the client made and has not closed. */
  readonly #open = new Map<unknown, Session>();

  constructor(client: Client) {
    this.#client = client;
  }

  async play(exchange: Exchange | Exchange[]): Promise<Handed[]> {
    if (Array.isArray(exchange)) return this.#together(exchange);
    const { method } = exchange;
    const params = exchange.params as Params;
    const whole = method !== "env/make";
    try {
      return [{ result: await this.#one(method, params), whole }];
    } catch (error) {
      if (!(error instanceof WireError)) throw error;
      return [{ error: error.toObject(), whole }];
    }
  }

  async #one(method: string, params: Params): Promise<unknown> {
    if (method === "env/make") {
      const { env, ...options } = params;
      const made = await this.#client.make(env as string, options);
      return { session: this.#keep(made, method), seq: made.seq, env: made.env };
    }
    if (method === "env/fork") {
      const { session, snapshot, count } = params as { session?: string; snapshot?: string; count: number };
      const source = session === undefined ? (snapshot as string) : (this.#open.get(session) as Session);
      const forks = await this.#client.fork(source, count);
      return { sessions: forks.map((fork) => this.#keep(fork, method)) };
    }
    const { session: id, seq, ...own } = params;
    const session = this.#open.get(id);
    const verb = verbs[method as MethodName];
    const counted = method === "env/reset" || method === "env/step" || method === "env/restore";
    if (session === undefined || verb === undefined || (counted && seq !== session.seq)) {
      return this.#client.call(method as MethodName, params);
    }
    this.byVerb.add(method);
    if (method === "env/close") this.#open.delete(id);
    return verb(session, own);
  }

  /** A batch of steps, which is what clients have a verb for. */
  async #together(exchanges: readonly Exchange[]): Promise<Handed[]> {
    const all = exchanges.map(({ params }) => params as { session: string; action: unknown });
    const vector = this.#client.vectorOf(all.map(({ session }) => this.#open.get(session) as Session));
    const { errors, observations, rewards, terminated, truncated, infos } = await vector.step(
      all.map(({ action }) => action),
    );
    this.byVerb.add("batch");
    return all.map((_, i) => {
      const error = errors[i];
      if (error !== undefined) return { error: (error as WireError).toObject(), whole: false };
      const [observation, reward, info] = [observations[i], rewards[i], infos[i]];
      return {
        result: { observation, reward, info, terminated: terminated[i], truncated: truncated[i] },
        whole: false,
      };
    });
  }

  #keep(session: Session, method: string): string {
    this.byVerb.add(method);
    this.#open.set(session.id, session);
    return session.id;
  }
}
