/** The session's state machine over the real wire, in any order of calls, against a model that fits on a page. */

import fc from "fast-check";
import { expect, test } from "vitest";
import { verifies } from "../../e2e/verifies.ts";
import { type DurableServer, durableServer } from "../../resources/durable.ts";
import { trouble, type Trouble } from "../../resources/envs.ts";
import { until } from "../../resources/events.ts";
import { serverResource, type TestServer } from "../../resources/server.ts";
import type { ResultOf } from "trailgym/protocol";
import { type Reply, resultText, type Wire, WireClosed } from "../../resources/wire.ts";

interface Value {
  count: number;
  index: number;
}

interface ModelSession {
  value: Value | undefined;
  seq: number;
  committed: { seq: number; method: string; params: object; text: string }[];
  /** Requests that wait for the one trial that runs. */
  waiting: { wire: number; id: number; reply: Promise<Reply>; cancelled: boolean }[];
  closed: boolean;
}

interface Model {
  sessions: ModelSession[];
  snapshots: Value[];
  /** Steps that the environment must have been asked to run. */
  runs: number;
}

interface Real {
  env: Trouble;
  /** Of a durable one that which is up. */
  readonly server: TestServer;
  durable: DurableServer | undefined;
  wires: Wire[];
  /** Every wire that ever was, to count its replies. */
  ever: Wire[];
  asked: Map<Wire, number[]>;
  sessions: string[];
  snapshots: string[];
}

type Command = fc.AsyncCommand<Model, Real>;
type Named = { name: string; params: object };

/** Asks under a fresh id, and remembers that it did. */
function ask(real: Real, wire: number, method: string, params: object): { id: number; reply: Promise<Reply> } {
  const on = real.wires[wire] as Wire;
  const id = on.nextId();
  real.asked.set(on, [...(real.asked.get(on) ?? []), id]);
  return { id, reply: on.request(method, params, id) };
}

async function answer(real: Real, wire: number, method: string, params: object): Promise<Reply> {
  return ask(real, wire, method, params).reply;
}

function nameOf({ error }: Reply): string | undefined {
  return error?.data?.name;
}

/** Everything that can be seen is as the model says. */
async function agree(model: Model, real: Real): Promise<void> {
  for (const [i, { value, seq, closed }] of model.sessions.entries()) {
    const seen = await answer(real, i % real.wires.length, "env/observe", { session: real.sessions[i] });
    if (closed) expect(nameOf(seen)).toBe("UNKNOWN_SESSION");
    else if (value === undefined) expect(seen.result).toMatchObject({ status: "new", seq, index: 0 });
    else expect(seen.result).toMatchObject({ seq, index: value.index, observation: { count: value.count } });
  }
  const running = model.sessions.filter(({ waiting }) => waiting.length > 0).length;
  expect(real.env.held).toBe(running);
  expect(real.env.runs).toBe(model.runs);
  expect(real.server.server.sessions).toBe(model.sessions.filter(({ closed }) => !closed).length);
}

abstract class Move implements Command {
  readonly pick: number;
  readonly wire: number;
  readonly n: number;
  constructor([pick, wire, n]: readonly [number, number, number]) {
    this.pick = pick;
    this.wire = wire;
    this.n = n;
  }
  check = () => true;
  toString = () => `${this.constructor.name}(${this.pick}, ${this.wire}, ${this.n})`;

  async run(model: Model, real: Real): Promise<void> {
    const i = this.pick % model.sessions.length;
    const session = model.sessions[i] as ModelSession;
    await this.move(session, model, real, i);
    await agree(model, real);
  }

  /** A call that counts, with its effect on the model if it is committed. */
  protected async counted(
    { name, params }: Named,
    commit: (session: ModelSession) => void,
    [session, , real, i]: [ModelSession, Model, Real, number],
    failure?: string,
  ): Promise<void> {
    const seq = this.n % 3 === 0 ? {} : { seq: session.seq };
    const full = { session: real.sessions[i], ...seq, ...params };
    const reply = await answer(real, this.wire, name, full);
    if (session.closed) return void expect(nameOf(reply)).toBe("UNKNOWN_SESSION");
    if (session.waiting.length > 0) {
      return void expect(nameOf(reply)).toBe("seq" in seq ? "SEQ_CONFLICT" : "SESSION_BUSY");
    }
    if (failure !== undefined) return void expect(nameOf(reply)).toBe(failure);
    expect(reply.error).toBeUndefined();
    session.committed.push({ seq: session.seq, method: name, params, text: resultText(reply) });
    session.seq++;
    commit(session);
  }

  abstract move(session: ModelSession, model: Model, real: Real, i: number): Promise<void>;
}

class Reset extends Move {
  move(...[session, model, real, i]: [ModelSession, Model, Real, number]) {
    const call = { name: "env/reset", params: { seed: this.n, options: { from: this.n } } };
    return this.counted(call, (s) => (s.value = { count: this.n, index: 0 }), [session, model, real, i]);
  }
}

class Step extends Move {
  async move(...[session, model, real, i]: [ModelSession, Model, Real, number]) {
    const failure = session.value === undefined ? "RESET_NEEDED" : undefined;
    const free = !session.closed && session.waiting.length === 0 && failure === undefined;
    if (free) model.runs++;
    const call = { name: "env/step", params: { action: { do: "add", n: this.n } } };
    const commit = (s: ModelSession) => {
      const { count, index } = s.value as Value;
      s.value = { count: count + this.n, index: index + 1 };
    };
    await this.counted(call, commit, [session, model, real, i], failure);
  }
}

class FailingStep extends Move {
  async move(...[session, model, real, i]: [ModelSession, Model, Real, number]) {
    const failure = session.value === undefined ? "RESET_NEEDED" : "ENV_FAULT";
    if (!session.closed && session.waiting.length === 0 && session.value !== undefined) model.runs++;
    const call = { name: "env/step", params: { action: { do: this.n % 2 === 0 ? "throw" : "scribble" } } };
    await this.counted(call, () => undefined, [session, model, real, i], failure);
  }
}

class Retry extends Move {
  async move(session: ModelSession, _model: Model, real: Real, i: number) {
    const past = session.committed[this.n % Math.max(1, session.committed.length)];
    if (past === undefined || session.closed) return;
    const { seq, method, params, text } = past;
    const reply = await answer(real, this.wire, method, { session: real.sessions[i], ...params, seq });
    expect(resultText(reply)).toBe(text);
  }
}

class Conflict extends Move {
  async move(session: ModelSession, _model: Model, real: Real, i: number) {
    if (session.committed.length === 0 || session.closed) return;
    const params = { session: real.sessions[i], seq: this.n % session.seq, action: { do: "add", n: -1 } };
    expect(nameOf(await answer(real, this.wire, "env/step", params))).toBe("SEQ_CONFLICT");
  }
}

class Gap extends Move {
  async move(session: ModelSession, _model: Model, real: Real, i: number) {
    if (session.closed) return;
    const params = { session: real.sessions[i], seq: session.seq + 2 + this.n, action: { do: "add" } };
    expect(nameOf(await answer(real, this.wire, "env/step", params))).toBe("SEQ_GAP");
  }
}

/** Starts a step that waits, or joins the one that does. */
class Hold extends Move {
  async move(session: ModelSession, model: Model, real: Real, i: number) {
    if (session.closed || session.value === undefined) return;
    const params = { session: real.sessions[i], seq: session.seq, action: { do: "wait" } };
    const { id, reply } = ask(real, this.wire, "env/step", params);
    reply.catch(() => undefined);
    if (session.waiting.length === 0) model.runs++;
    session.waiting.push({ wire: this.wire, id, reply, cancelled: false });
    // In the socket's order this comes after it.
    await answer(real, this.wire, "env/list", {});
  }
}

/** Lets every step that waits be committed. */
class Release extends Move {
  async move(_session: ModelSession, model: Model, real: Real) {
    real.env.release();
    for (const session of model.sessions.filter(({ waiting }) => waiting.length > 0)) {
      const texts = await Promise.all(session.waiting.map(async ({ reply }) => resultText(await reply)));
      expect(new Set(texts).size).toBe(1);
      const params = { action: { do: "wait" } };
      session.committed.push({ seq: session.seq, method: "env/step", params, text: texts[0] as string });
      const { count, index } = session.value as Value;
      Object.assign(session, { value: { count: count + 1, index: index + 1 }, seq: session.seq + 1, waiting: [] });
    }
  }
}

/** Ends a trial when the last one who waits for it cancels; until then it goes on, for all of them. */
class Cancel extends Move {
  async move(session: ModelSession, model: Model, real: Real) {
    const one = session.waiting[this.n % Math.max(1, session.waiting.length)];
    if (one === undefined) return;
    (real.wires[one.wire] as Wire).notify("$/cancel", { id: one.id });
    one.cancelled = true;
    if (!session.waiting.every(({ cancelled }) => cancelled)) return;
    for (const { reply } of session.waiting) expect(nameOf(await reply)).toBe("CANCELLED");
    session.waiting = [];
    await settled(model, real);
  }
}

function settled(model: Model, real: Real): Promise<void> {
  return until(() => real.env.held === model.sessions.filter(({ waiting }) => waiting.length > 0).length);
}

class Close extends Move {
  override check = () => this.n % 3 === 0;
  async move(session: ModelSession, model: Model, real: Real, i: number) {
    const reply = await answer(real, this.wire, "env/close", { session: real.sessions[i] });
    expect(reply.result).toEqual({ closed: true });
    for (const { reply } of session.waiting) expect(nameOf(await reply)).toBe("CANCELLED");
    Object.assign(session, { closed: true, waiting: [] });
    await settled(model, real);
    if (model.sessions.every(({ closed }) => closed)) await open(model, real);
  }
}

/** Loses a socket and comes back on another: what ran goes on, and its reply can be asked for again. */
class Reconnect extends Move {
  async move(_session: ModelSession, model: Model, real: Real) {
    await (real.wires[this.wire] as Wire).drop();
    await until(() => real.server.server.sockets === 1);
    const back = await real.server.wire();
    real.wires[this.wire] = back;
    real.ever.push(back);
    for (const [i, session] of model.sessions.entries()) {
      const lost = session.waiting.filter(({ wire }) => wire === this.wire);
      for (const { reply } of lost) await expect(reply).rejects.toBeInstanceOf(WireClosed);
      if (session.closed) continue;
      const { result } = await answer(real, this.wire, "session/attach", { session: real.sessions[i] });
      expect(result).toMatchObject({ seq: session.seq });
      const last = session.committed.at(-1);
      if (last !== undefined) expect((result as { lastReply: unknown }).lastReply).toEqual(JSON.parse(last.text));
      // The trial has kept running without its caller: asking again joins it.
      for (const one of lost) {
        const params = { session: real.sessions[i], seq: session.seq, action: { do: "wait" } };
        Object.assign(one, ask(real, this.wire, "env/step", params), { cancelled: false });
        one.reply.catch(() => undefined);
      }
    }
    await answer(real, this.wire, "env/list", {});
  }
}

class Snapshot extends Move {
  async move(session: ModelSession, model: Model, real: Real, i: number) {
    const reply = await answer(real, this.wire, "env/snapshot", { session: real.sessions[i] });
    if (session.closed) expect(nameOf(reply)).toBe("UNKNOWN_SESSION");
    else if (session.value === undefined) expect(nameOf(reply)).toBe("RESET_NEEDED");
    else {
      real.snapshots.push((reply.result as { snapshot: string }).snapshot);
      model.snapshots.push(session.value);
    }
  }
}

class Restore extends Move {
  async move(...[session, model, real, i]: [ModelSession, Model, Real, number]) {
    if (model.snapshots.length === 0) return;
    const k = this.n % model.snapshots.length;
    const call = { name: "env/restore", params: { snapshot: real.snapshots[k] } };
    await this.counted(call, (s) => (s.value = model.snapshots[k]), [session, model, real, i]);
  }
}

class Fork extends Move {
  async move(session: ModelSession, model: Model, real: Real, i: number) {
    if (model.sessions.length >= 5) return;
    const named = this.n % 2 === 0 && model.snapshots.length > 0;
    const k = this.n % Math.max(1, model.snapshots.length);
    const source = named ? { snapshot: real.snapshots[k] } : { session: real.sessions[i] };
    const reply = await answer(real, this.wire, "env/fork", { ...source, count: 1 });
    const value = named ? model.snapshots[k] : session.value;
    if (!named && session.closed) return void expect(nameOf(reply)).toBe("UNKNOWN_SESSION");
    if (value === undefined) return void expect(nameOf(reply)).toBe("RESET_NEEDED");
    real.sessions.push(...(reply.result as { sessions: string[] }).sessions);
    model.sessions.push({ value, seq: 0, committed: [], waiting: [], closed: false });
  }
}

/** The server goes down, in order or not, and what was committed is all there is. */
class Restart extends Move {
  override check = () => this.n % 3 !== 0;
  async move(_session: ModelSession, model: Model, real: Real) {
    const { durable } = real;
    if (durable === undefined) return;
    const lost = model.sessions.flatMap(({ waiting }) => waiting);
    for (const session of model.sessions) session.waiting = [];
    await durable.restart(this.n % 2 === 0 ? "close" : "crash");
    for (const { reply } of lost) {
      const name = await reply.then(nameOf, (error: unknown) => {
        expect(error).toBeInstanceOf(WireClosed);
        return "CANCELLED";
      });
      expect(name).toBe("CANCELLED");
    }
    await settled(model, real);
    for (const [i] of real.wires.entries()) {
      const back = await durable.wire();
      real.wires[i] = back;
      real.ever.push(back);
    }
    await kept(model, real);
  }
}

/** What is kept of each session's episode leads to where the session is. */
async function kept(model: Model, real: Real): Promise<void> {
  for (const [i, { value, closed }] of model.sessions.entries()) {
    if (value === undefined || closed) continue;
    const { result } = await answer(real, 0, "trajectory/get", { session: real.sessions[i] });
    const { transitions, opening, steps } = result as ResultOf<"trajectory/get">;
    const counts = [opening, ...transitions].map(({ observation }) => (observation as { count: number }).count);
    expect([steps, transitions.length, counts.at(-1)]).toEqual([value.index, value.index, value.count]);
    for (const [k, { action, reward }] of transitions.entries()) {
      const { n = 1 } = action as { n?: number };
      expect([reward, counts[k + 1]]).toEqual([n, (counts[k] as number) + n]);
    }
  }
}

async function open(model: Model, real: Real): Promise<void> {
  const { result } = await answer(real, 0, "env/make", { env: "trouble-v1" });
  real.sessions.push((result as { session: string }).session);
  model.sessions.push({ value: undefined, seq: 0, committed: [], waiting: [], closed: false });
}

const aim = fc.tuple(fc.nat(4), fc.nat(1), fc.nat(9));
const moves = [Reset, Step, Step, FailingStep, Retry, Conflict, Gap, Hold, Hold, Release, Cancel, Close, Reconnect];
const branching = [Snapshot, Restore, Fork];
const anyOf = (kinds: readonly (new (at: readonly [number, number, number]) => Command)[]) =>
  fc.commands(
    kinds.map((Kind) => aim.map((at): Command => new Kind(at))),
    { maxCommands: 40, size: "max" },
  );

async function explore(
  env: Trouble,
  server: TestServer,
  durable: DurableServer | undefined,
  moves: Iterable<Command>,
): Promise<void> {
  const wires = [await server.wire(), await server.wire()];
  const asked = new Map<Wire, number[]>();
  const real: Real = {
    ...{ env, durable, wires, ever: [...wires], asked, sessions: [], snapshots: [] },
    get server() {
      return durable?.current ?? server;
    },
  };
  const model: Model = { sessions: [], snapshots: [], runs: 0 };
  await open(model, real);
  await fc.asyncModelRun(() => ({ model, real }), moves);
  env.release();
  for (const { waiting } of model.sessions) await Promise.all(waiting.map(({ reply }) => reply));
  // One response for one id; those of a socket that was dropped may be lost with it.
  for (const wire of real.ever) {
    const ids = wire.frames.map((text) => (JSON.parse(text) as Reply).id);
    expect(new Set(ids).size).toBe(ids.length);
    if (real.wires.includes(wire)) expect(ids).toEqual(expect.arrayContaining(asked.get(wire) ?? []));
  }
}

const config = { keptReplies: 1000 };

verifies(
  "session/state-machine",
  async () => {
    const property = fc.asyncProperty(anyOf([...moves, ...branching]), async (moves) => {
      const env = trouble();
      await using server = await serverResource({ envs: [env.env], config });
      await explore(env, server, undefined, moves);
    });
    await fc.assert(property, { numRuns: 60, endOnFailure: true });
  },
  60_000,
);

test("a session is where the model is also when its server goes down and comes up at any moment", async () => {
  const property = fc.asyncProperty(anyOf([...moves, ...branching, Restart, Restart, Restart]), async (moves) => {
    const env = trouble();
    await using durable = await durableServer({ envs: [env.env], config });
    await explore(env, durable.current, durable, moves);
  });
  await fc.assert(property, { numRuns: 40, endOnFailure: true });
}, 120_000);
