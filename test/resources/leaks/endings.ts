/** Every way in which a session ends. Each leaves it to the server to tidy up, some at its lease's end. */

import type { WireError } from "trailgym/protocol";
import { Wire } from "../wire.ts";

const leaseMs = 1000;
/** Time enough for a step to start, and too little for one that never returns. */
const shortMs = 30;

interface Kind {
  env: string;
  task?: string;
  count: unknown;
  spin?: unknown;
  end: unknown;
}

const countdown: Kind = { env: "countdown-v1", count: { amount: 1 }, end: { amount: 1 } };
const program: Kind = {
  env: "code-gym-v1",
  task: "unruly/0",
  count: { tool: "Count", arguments: {} },
  spin: { tool: "Spin", arguments: {} },
  end: { tool: "Done", arguments: { answer: 1 } },
};
const thread: Kind = { env: "unruly-v1", count: { do: "count" }, spin: { do: "spin" }, end: { do: "end" } };

interface Playing {
  wire: Wire;
  session: string;
  kind: Kind;
  seq: number;
  /** @returns the error's name, if it is one */
  step(action: unknown, timeoutMs?: number): Promise<string | undefined>;
}

type Ending = (playing: Playing) => Promise<unknown>;

const endings: Record<string, { of: readonly Kind[]; end: Ending }> = {
  "closed in the middle": { of: [countdown, program, thread], end: close },
  "played to its end and closed": {
    of: [countdown, program, thread],
    async end(playing) {
      await playing.step(playing.kind.end);
      await close(playing);
    },
  },
  "left to its lease": { of: [countdown, program, thread], end: ({ wire }) => wire.drop() },
  "its step past the deadline": {
    of: [program, thread],
    async end(playing) {
      expectName(await playing.step(playing.kind.spin, shortMs), "DEADLINE");
      await close(playing);
    },
  },
  "its step cancelled": {
    of: [program, thread],
    async end(playing) {
      const id = playing.wire.nextId();
      const { session, seq, kind } = playing;
      const reply = playing.wire.request("env/step", { session, seq, action: kind.spin }, id);
      await pause(shortMs);
      playing.wire.notify("$/cancel", { id });
      expectName((await reply).error?.data?.name, "CANCELLED");
      await close(playing);
    },
  },
  "closed while its step runs": {
    of: [program, thread],
    async end(playing) {
      const { session, seq, kind, wire } = playing;
      const reply = wire.request("env/step", { session, seq, action: kind.spin });
      await pause(shortMs);
      await close(playing);
      expectName((await reply).error?.data?.name, "CANCELLED");
    },
  },
  "its socket lost while its step runs": {
    of: [program, thread],
    async end({ session, seq, kind, wire }) {
      void wire.request("env/step", { session, seq, action: kind.spin, timeoutMs: 200 }).catch(() => undefined);
      await pause(shortMs);
      await wire.drop();
    },
  },
  "its environment at fault": {
    of: [thread],
    async end(playing) {
      expectName(await playing.step({ do: "throw" }), "ENV_FAULT");
      expectName(await playing.step({ do: "wait" }, shortMs), "DEADLINE");
      await close(playing);
    },
  },
  "forked, restored and closed": {
    of: [countdown, program, thread],
    async end(playing) {
      const { wire, session } = playing;
      const { snapshot } = await wire.call("env/snapshot", { session });
      const { sessions } = await wire.call("env/fork", { snapshot, count: 2 });
      await playing.step(playing.kind.count);
      await wire.call("env/restore", { session, seq: playing.seq++, snapshot });
      for (const fork of sessions) await wire.call("env/close", { session: fork });
      await close(playing);
    },
  },
};

/** All of them, each for each kind of environment that can end so. */
const cases = Object.values(endings).flatMap(({ of, end }) => of.map((kind) => ({ kind, end })));

/** One session of each case and sockets that never get as far, `atOnce` at a time. @returns how many sessions were begun */
export async function endSessions(url: string, count: number, atOnce = 8): Promise<number> {
  let begun = 0;
  const some = async () => {
    while (begun < count) {
      const { kind, end } = cases[begun++ % cases.length] as (typeof cases)[number];
      await using wire = await Wire.open(url);
      await end(await begin(wire, kind));
      await refused(wire);
    }
  };
  await Promise.all(Array.from({ length: atOnce }, some));
  // The last ones' leases.
  await pause(leaseMs + 500);
  // A pool keeps what the last call needed; whether that is something or nothing must not be left to chance.
  await using wire = await Wire.open(url);
  for (const kind of [countdown, program, thread]) await close(await begin(wire, kind));
  return begun;
}

async function begin(wire: Wire, kind: Kind): Promise<Playing> {
  const { session } = await wire.call("env/make", { env: kind.env, leaseMs });
  const task = kind.task === undefined ? {} : { task: kind.task };
  await wire.call("env/reset", { session, seq: 0, ...task });
  const playing: Playing = {
    ...{ wire, session, kind, seq: 1 },
    async step(action, timeoutMs) {
      const late = timeoutMs === undefined ? {} : { timeoutMs };
      const { error } = await wire.request("env/step", { session, seq: playing.seq, action, ...late });
      if (error === undefined) playing.seq++;
      return error?.data?.name;
    },
  };
  await playing.step(kind.count);
  return playing;
}

/** What never becomes a session, unless the socket is lost already. */
async function refused(wire: Wire): Promise<void> {
  if (wire.socket.readyState !== wire.socket.OPEN) return;
  await wire.fails("env/make", { env: "nowhere-v1" });
  await wire.fails("env/reset", { session: "s-nobody", seq: 0 });
}

async function close({ wire, session }: Playing): Promise<void> {
  await wire.call("env/close", { session });
}

function expectName(name: WireError["name"] | undefined, expected: string): void {
  if (name !== expected) throw new Error(`expected ${expected}, got ${name ?? "no error"}`);
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
