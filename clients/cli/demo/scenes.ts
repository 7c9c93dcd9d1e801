/** What does the demo play? Each scene is one episode, or one that is forked. */

import { type Client, WireError } from "trailgym/client";
import type { PublicTask } from "trailgym/env";
import type { EnvEntry, Value } from "trailgym/protocol";
import type { Server } from "trailgym/server";
import { type Row, Take } from "./scene.ts";

export interface Stage {
  readonly client: Client;
  readonly server: Server;
}

export interface Piece {
  readonly env: EnvEntry;
  readonly task: PublicTask | null;
}

export interface Scene {
  /** Where its rows are shown, ascending; scenes of one place in the order they are played. */
  readonly place: number;
  readonly label: string;
  play(stage: Stage): Promise<Row[]>;
}

const SEED = 7;
/** After everything that has a place. */
const LAST = Number.MAX_SAFE_INTEGER;
const DEADLINE_MS = 300;

const of = ({ env, task }: Piece) => ({
  env: env.id,
  task: task?.id ?? null,
  family: typeof task?.family === "string" ? task.family : null,
});

const start = ({ task }: Piece) => ({ seed: SEED, task: task?.id });

async function referenceOf(
  { server }: Stage,
  piece: Piece,
): Promise<{ actions: readonly Value[]; episodeReturn: number }> {
  const play = await server.reference(piece.env.id, start(piece));
  if (play === undefined) throw new Error(`${piece.env.id} has no reference`);
  return play;
}

/** The environment's own solution, over the wire like any other agent. */
export function reference(piece: Piece, place: number): Scene {
  return {
    place,
    label: `${piece.env.id} ${piece.task?.id ?? ""}`.trim(),
    async play(stage) {
      const { actions, episodeReturn } = await referenceOf(stage, piece);
      await using session = await stage.client.make(piece.env.id);
      await session.reset(start(piece));
      const take = new Take(session);
      const last = await take.play(actions);
      const language = piece.task?.language;
      const shown = `the reference solves it${typeof language === "string" ? `, in a ${nameOf(language)} program` : ""}`;
      return [take.row(of(piece), shown, take.so.return === episodeReturn && last?.terminated === true)];
    },
  };
}

/** @param wrong a play that ends, and earns nothing. */
export function imperfect(piece: Piece, wrong: readonly unknown[]): Scene {
  return {
    place: LAST,
    label: "an agent that errs",
    async play({ client }) {
      await using session = await client.make(piece.env.id);
      await session.reset(start(piece));
      const take = new Take(session);
      const unknown = await take.step({ tool: "Teleport", arguments: {} });
      const unreadable = await take.step('{"tool": "Done", "arguments": {');
      const last = await take.play(wrong);
      const ok = isError(unknown.observation) && isError(unreadable.observation) && last?.terminated === true;
      return [
        take.row(
          of(piece),
          "an unknown tool and broken JSON are observations; a wrong answer earns 0",
          ok && take.so.return === 0,
        ),
      ];
    },
  };
}

/** Where actions are plain values. */
export function invalid(piece: Piece, bad: unknown): Scene {
  return {
    place: LAST,
    label: "an action that does not fit",
    async play(stage) {
      const { actions } = await referenceOf(stage, piece);
      await using session = await stage.client.make(piece.env.id);
      const { stateDigest } = await session.reset(start(piece));
      const refused = await nameOfError(session.step(bad));
      const after = await session.observe();
      const take = new Take(session);
      await take.play(actions);
      const ok = refused === "INVALID_ACTION" && after.stateDigest === stateDigest && take.so.return === 1;
      return [take.row(of(piece), `${JSON.stringify(bad)} is refused, nothing is consumed, the episode goes on`, ok)];
    },
  };
}

/** @param wrong a last action that is a wrong answer. */
export function forked(piece: Piece, wrong: unknown): Scene {
  return {
    place: LAST,
    label: "one episode, finished two ways",
    async play(stage) {
      const { actions } = await referenceOf(stage, piece);
      const half = Math.floor(actions.length / 2);
      await using session = await stage.client.make(piece.env.id);
      await session.reset(start(piece));
      const common = new Take(session);
      await common.play(actions.slice(0, half));
      const [first, second] = await session.fork(2);
      if (first === undefined || second === undefined) throw new Error("fork gave no sessions");
      await using one = first;
      await using two = second;
      const [right, left] = [new Take(one, common.so), new Take(two, common.so)];
      await right.play(actions.slice(half));
      await left.play([...actions.slice(half, -1), wrong]);
      const observed = await session.observe();
      const ok = right.so.return === 1 && left.so.return === 0 && observed.index === half;
      return [
        right.row(of(piece), `forked after ${half} steps; this copy gives the right answer`, ok),
        left.row(of(piece), "the other copy gives a wrong one; the original still stands half-way", ok),
      ];
    },
  };
}

/** A program that does not return is killed, and the episode goes on from where it was. */
export function endless(env: EnvEntry): Scene {
  return {
    place: LAST,
    label: "a step that never ends",
    async play({ client }) {
      await using session = await client.make(env.id);
      await session.reset({ seed: SEED });
      const take = new Take(session);
      const { stateDigest } = await take.step({ spin: false });
      const started = performance.now();
      const ended = await nameOfError(session.step({ spin: true }, { timeoutMs: DEADLINE_MS }));
      const ms = Math.round(performance.now() - started);
      const after = await session.observe();
      await take.play([{ spin: false }, { spin: false }]);
      const ok = ended === "DEADLINE" && after.stateDigest === stateDigest && take.so.return === 1;
      const shown = `a program that never returns is killed after ${ms} ms; the state is as before`;
      return [take.row(of({ env, task: null }), shown, ok)];
    },
  };
}

async function nameOfError(call: Promise<unknown>): Promise<string | undefined> {
  try {
    await call;
    return undefined;
  } catch (error) {
    if (error instanceof WireError) return error.name;
    throw error;
  }
}

function isError(observation: unknown): boolean {
  return (observation as { isError?: unknown } | null)?.isError === true;
}

function nameOf(language: string): string {
  return language === "javascript" ? "JavaScript" : language.replace(/^./, (first) => first.toUpperCase());
}
