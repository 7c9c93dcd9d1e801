/** Does a recorded trajectory come out the same again? */

import type { Client } from "trailgym/client";
import { canonical, canonicalJson, decode, type Json, WireError } from "trailgym/protocol";
import { openEndpoint } from "../compose/endpoint.ts";
import type { EndpointOptions } from "../settings.ts";
import { type Io, note, print, printJson } from "../terminal/io.ts";
import { readRecords, type Replayable } from "./records.ts";

export interface ReplayOptions extends EndpointOptions {
  limit?: number;
  json?: boolean;
}

/** Where the two part for the first time. */
export interface Difference {
  /** 0: the opening. */
  index: number;
  /** `stateDigest`, `observation`, `reward` …, or `error` where the replay was refused. */
  what: string;
  recorded: unknown;
  replayed: unknown;
}

export interface Replayed {
  name: string;
  env: string;
  steps: number;
  /** Undefined: the same to the end. */
  difference: Difference | undefined;
  /** Why it could not be played at all. */
  skipped: string | undefined;
}

export async function replay(io: Io, file: string, options: ReplayOptions): Promise<void> {
  const { limit = Infinity, json } = options;
  await using endpoint = await openEndpoint(io, options);
  const definitions = new Map((await endpoint.client.list()).map((entry) => [entry.id, entry]));
  const results: Replayed[] = [];
  for await (const record of readRecords(file)) {
    if (results.length >= limit) break;
    io.signal.throwIfAborted();
    const known = definitions.has(record.env);
    const result = known ? await replayed(endpoint.client, record) : skip(record, "the server has no such environment");
    results.push(result);
    if (json !== true) tell(io, result);
  }
  const differ = results.filter(({ difference }) => difference !== undefined);
  const skipped = results.filter((result) => result.skipped !== undefined);
  if (differ.length > 0 || results.length === 0) io.exitCode = 1;
  if (json === true) return printJson(io, { replayed: results.length - skipped.length, differ, skipped });
  const same = results.length - differ.length - skipped.length;
  if (results.length === 0) note(io, `${file} has no trajectories`);
  print(io, `${same} the same, ${differ.length} different, ${skipped.length} skipped`);
}

function tell(io: Io, { name, env, difference, skipped }: Replayed): void {
  if (skipped !== undefined) return print(io, `${name} (${env}): skipped, ${skipped}`);
  if (difference === undefined) return;
  const { index, what, recorded, replayed } = difference;
  const at = index === 0 ? "its opening" : `step ${index}`;
  print(io, `${name} (${env}): differs at ${at}: ${what} was ${short(recorded)} and is ${short(replayed)}`);
}

function nameOf({ episode, key }: Replayable): string {
  return key ?? String(episode ?? "episode");
}

function skip(record: Replayable, why: string): Replayed {
  return { name: nameOf(record), env: record.env, steps: 0, difference: undefined, skipped: why };
}

async function replayed(client: Client, record: Replayable): Promise<Replayed> {
  const { env, task, seed, options = {}, transitions } = record;
  const opening = record.opening ?? { index: 0, observation: record.observation, stateDigest: undefined };
  if (opening.index > 0) return skip(record, "its beginning is no longer kept");
  const result = { name: nameOf(record), env, skipped: undefined };
  await using session = await client.make(env, {});
  let index = 0;
  try {
    const given = decode(options as Json) as Record<string, unknown>;
    const first = await session.reset({ seed, options: given, ...(task === null ? {} : { task }) });
    const parted = differenceOf(0, opening, first);
    if (parted !== undefined) return { ...result, steps: 0, difference: parted };
    for (const transition of transitions) {
      const got = await session.step(decode(transition.action as Json), {});
      const difference = differenceOf(++index, transition, got);
      if (difference !== undefined) return { ...result, steps: index, difference };
    }
    return { ...result, steps: index, difference: undefined };
  } catch (error) {
    if (!(error instanceof WireError)) throw error;
    const at = Math.min(index + 1, transitions.length);
    const difference = { index: at, what: "error", recorded: null, replayed: `${error.name}: ${error.message}` };
    return { ...result, steps: index, difference };
  }
}

type Value = { observation?: unknown; stateDigest?: string | undefined } & Record<string, unknown>;

/** The digest first: it stands for the whole state, where an observation shows some of it. */
function differenceOf(index: number, recorded: Value, got: Value): Difference | undefined {
  const { stateDigest } = recorded;
  if (stateDigest !== undefined && stateDigest !== got.stateDigest) {
    return { index, what: "stateDigest", recorded: stateDigest, replayed: got.stateDigest };
  }
  for (const what of ["reward", "terminated", "truncated"]) {
    if (recorded[what] !== undefined && recorded[what] !== got[what]) {
      return { index, what, recorded: recorded[what], replayed: got[what] };
    }
  }
  const [was, is] = [canonicalJson(recorded.observation as Json), canonical(got.observation)];
  return was === is ? undefined : { index, what: "observation", recorded: was, replayed: is };
}

function short(value: unknown): string {
  const text = typeof value === "string" ? value : (JSON.stringify(value) ?? "nothing");
  return text.length > 120 ? `${text.slice(0, 119)}…` : text;
}
