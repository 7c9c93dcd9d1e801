/** One short function per method: from checked params to a result. */

import { randomInt, randomUUID } from "node:crypto";
import { encode, type MethodName, openrpc, protocolVersions, WireError } from "trailgym/protocol";
import type { Value, methods } from "trailgym/protocol";
import type { z } from "zod";
import type { ServerConfig } from "./config.ts";
import type { Connection } from "./connection.ts";
import type { Episode, Journal, SessionSettings, SessionSummary, Snapshot } from "./journal/journal.ts";
import { readTrajectory } from "./journal/trajectory.ts";
import { authenticate, type Principal } from "./principals.ts";
import type { Registry } from "./registry.ts";
import { branch, observed, resetCall, restoreCall, stepCall } from "./sessions/calls.ts";
import { JsonText, type Session, type Waiter } from "./sessions/session.ts";
import type { SessionTable } from "./sessions/table.ts";
import { parseOptions } from "./sessions/transaction.ts";
import { parseTraceparent } from "./tracing.ts";

export interface HandlerContext {
  connection: Connection;
  request: Waiter;
  caller: Principal;
}

type Params<N extends MethodName> = z.output<(typeof methods)[N]["params"]>;
/** The wire's JSON, or text that is already so. Methods describe it; `test/server/results.test.ts` holds it to that. */
type Handler<N extends MethodName> = (params: Params<N>, context: HandlerContext) => unknown;
export type Handlers = { readonly [N in MethodName]: Handler<N> };

export interface HandlerParts {
  config: ServerConfig;
  instance: string;
  version: string;
  registry: Registry;
  table: SessionTable;
  journal: Journal;
}

export function createHandlers({ config, instance, version, registry, table, journal }: HandlerParts): Handlers {
  const document = new JsonText(JSON.stringify(openrpc()));
  return {
    initialize({ protocolVersions: offered, token, traceparent }, { connection }) {
      if (connection.principal !== undefined) throw WireError.of("INVALID_REQUEST", "this socket is initialized", {});
      const protocolVersion = protocolVersions.find((known) => offered.includes(known));
      if (protocolVersion === undefined) {
        const supported = [...protocolVersions];
        throw WireError.of("UNSUPPORTED_VERSION", `this server speaks ${supported.join(", ")}`, { supported });
      }
      connection.principal = authenticate(config.tokens, token ?? connection.bearer);
      if (traceparent !== undefined) connection.trace = parseTraceparent(traceparent);
      const { maxMessageBytes, maxBatch, maxSessions, stepTimeoutMs, leaseMs } = config;
      return {
        protocolVersion,
        server: { name: "trailgym", version, instance },
        role: connection.principal.role,
        capabilities: { batch: true, cancel: true, progress: true, fork: true },
        limits: { maxMessageBytes, maxBatch, maxSessions, stepTimeoutMs, leaseMs },
      };
    },

    "rpc.discover": () => document,

    ping: () => ({}),

    "env/list": () => ({ envs: registry.list().map(({ entry }) => entry) }),

    "env/tasks"({ env, split, cursor, limit = 100 }) {
      const { tasks } = registry.get(env);
      if (tasks === undefined) return { tasks: [], total: 0 };
      if (split !== undefined && !tasks.splits().includes(split)) {
        const known = [...tasks.splits()];
        throw WireError.of("UNKNOWN_TASK", `${env} has no split "${split}"; it has ${known.join(", ")}`, {
          suggestions: known,
        });
      }
      return encode(tasks.list(split, cursor, limit));
    },

    async "env/make"(params, { connection, request, caller }) {
      const settings: SessionSettings = {
        options: (params.options ?? {}) as { readonly [key: string]: Value },
        leaseMs: params.leaseMs ?? config.leaseMs,
        stepTimeoutMs: params.stepTimeoutMs ?? config.stepTimeoutMs,
        autoreset: params.autoreset ?? "disabled",
        digest: params.digest ?? "step",
      };
      parseOptions(registry.get(params.env), settings.options);
      const session = await table.create(caller, params.env, settings, params.wait === false ? undefined : request);
      connection.hold(session);
      const { leaseMs, stepTimeoutMs } = settings;
      return { session: session.id, seq: 0, env: params.env, leaseMs, stepTimeoutMs };
    },

    "env/reset"(params, { request, caller }) {
      const options = params.options as { readonly [key: string]: Value } | undefined;
      const reset = (session: Session) => session.call(resetCall(session, { ...params, options }, drawSeed), request);
      return found(caller, params.session, reset);
    },

    "env/step"(params, { request, caller }) {
      const { action, extras } = params as { action: Value; extras?: Value };
      const step = (session: Session) => session.call(stepCall(session, { ...params, action, extras }), request);
      return found(caller, params.session, step);
    },

    "env/observe": ({ session }, { caller }) => found(caller, session, ({ record }) => observed(record)),

    async "env/snapshot"({ session: id, label }, { caller }) {
      const { record } = await table.find(caller, id);
      const episode = begun(record.episode);
      const { principal, env, settings } = record;
      const snapshot: Snapshot = { id: `snap-${randomUUID()}`, principal, env, settings, episode, label };
      await journal.putSnapshot(snapshot);
      const { index, stateDigest: digest } = episode;
      return {
        snapshot: snapshot.id,
        index,
        digest,
        bytes: sizeOf(episode),
        ...(label === undefined ? {} : { label }),
      };
    },

    async "env/restore"(params, { request, caller }) {
      // Whether there is such a session is said before whether there is such a snapshot.
      await table.find(caller, params.session);
      const snapshot = await findSnapshot(caller, params.snapshot);
      return found(caller, params.session, (session) => {
        if (snapshot.env !== session.envId) {
          const message = `snapshot ${params.snapshot} is of ${snapshot.env}, the session plays ${session.envId}`;
          throw unknownSnapshot(message);
        }
        return session.call(restoreCall(session, params, snapshot), request);
      });
    },

    async "env/fork"({ session, snapshot, count }, { connection, caller }) {
      const source =
        snapshot === undefined
          ? (await table.find(caller, session ?? "")).record
          : await findSnapshot(caller, snapshot);
      const episode = begun(source.episode);
      const { env, settings } = source;
      const sessions = await table.createMany(count, caller, env, settings, () => branch(episode));
      for (const fork of sessions) connection.hold(fork);
      return { sessions: sessions.map(({ id }) => id) };
    },

    async "env/close"({ session }, { caller }) {
      await table.close(caller, session);
      return { closed: true };
    },

    async "session/attach"({ session: id }, { connection, caller }) {
      const session = await table.find(caller, id);
      const { record } = session;
      const last = record.seq === 0 ? undefined : await journal.reply(id, record.seq - 1);
      connection.hold(session);
      return {
        ...observed(record),
        leaseMs: record.settings.leaseMs,
        ...(last === undefined ? {} : { lastReply: JSON.parse(last.result) as unknown }),
      };
    },

    async "session/list"({ cursor, limit = 100 }, { caller }) {
      const { items, next } = await table.list(caller.name, { after: cursor, limit });
      return { sessions: items.map(listed), ...(next === undefined ? {} : { nextCursor: next }) };
    },

    async "trajectory/get"({ session, episode, cursor, limit = 1000 }, { caller }) {
      const id = episode ?? (await latestEpisode(caller, session ?? ""));
      const maxBytes = config.maxMessageBytes / 8;
      const found = await readTrajectory(journal, id, { from: cursor, limit, maxBytes });
      if (found === undefined) {
        const message = `episode ${id} never was, or is no longer kept`;
        throw WireError.of("UNKNOWN_SESSION", message, { reason: "unknown" });
      }
      if (found.principal !== caller.name) {
        throw WireError.of("FORBIDDEN", "this episode is another principal's", { role: caller.role });
      }
      return found.page;
    },
  };

  /** At once where the session is in memory, so that calls of one frame begin in its order. */
  function found<T>(caller: Principal, id: string, use: (session: Session) => T): T | Promise<T> {
    const session = table.find(caller, id);
    return session instanceof Promise ? session.then<T>(use) : use(session);
  }

  async function findSnapshot(caller: Principal, id: string): Promise<Snapshot> {
    const snapshot = await journal.snapshot(id);
    if (snapshot === undefined) throw unknownSnapshot(`snapshot ${id} not found; env/snapshot makes one`);
    if (snapshot.principal !== caller.name) {
      throw WireError.of("FORBIDDEN", "this snapshot is another principal's", { role: caller.role });
    }
    return snapshot;
  }

  async function latestEpisode(caller: Principal, session: string): Promise<string> {
    const latest = await journal.latestEpisode(session);
    if (latest !== undefined) return latest;
    // Says what is wrong with the session, where it is not only new.
    await table.find(caller, session);
    return begun(undefined).id;
  }
}

function listed({ id, env, settings, seq, episode, status, index, openedAt, lease }: SessionSummary) {
  const { leaseMs } = settings;
  const { held, usedAt } = lease;
  return { session: id, env, status, seq, index, episode, held, leaseMs, openedAt, usedAt };
}

function begun(episode: Episode | undefined): Episode {
  if (episode === undefined) throw WireError.of("RESET_NEEDED", "no episode has begun: call env/reset", {});
  return episode;
}

function unknownSnapshot(message: string): WireError {
  return WireError.of("UNKNOWN_SNAPSHOT", message, {});
}

/** Seeds fit in 47 bits so that every client's integers hold them. */
function drawSeed(): number {
  return randomInt(2 ** 47);
}

function sizeOf({ state }: Episode): number {
  return Buffer.byteLength(JSON.stringify(encode(state)));
}
