/** What every client promises its caller, against a real server. The Python client's suite mirrors it, name by name. */

import { setTimeout as sleep } from "node:timers/promises";
import { defineEnv } from "trailgym/env";
import { type Client, LateCommit, SessionBusy, type VectorStep, WireError } from "trailgym/client";
import { beforeEach, describe, expect, test } from "vitest";
import { z } from "zod";

/** A fresh server with `countdown-v1` and {@link waitEnv}, and a client whose socket can be cut. */
export interface Given extends AsyncDisposable {
  readonly client: Client;
  /** A second client of the same principal, on a socket of its own. */
  another(): Promise<Client>;
  /** Breaks every socket, without a close frame. */
  cut(): void;
  /** From now on the server hears the client, but the client does not hear the server; until {@link cut}. */
  deafen(): void;
  /** Sessions that the server has. */
  sessions(): number;
}

/** Each step takes as long as its action says, and tells of its progress. */
export const waitEnv = defineEnv({
  id: "wait-v1",
  summary: "Waits.",
  state: z.object({ waited: z.int() }),
  action: z.object({ ms: z.int().min(0) }),
  observation: z.object({ waited: z.int() }),
  options: z.object({}),
  reset: () => ({ state: { waited: 0 }, observation: { waited: 0 } }),
  async step(ctx, { waited }, { ms }) {
    ctx.progress(0.5, "waiting");
    await sleep(ms, undefined, { signal: ctx.signal });
    return { state: { waited: waited + ms }, observation: { waited: waited + ms } };
  },
});

interface Remaining {
  remaining: number;
}
interface Amount {
  amount: number;
}

export function clientContract(name: string, start: () => Promise<Given>): void {
  describe(`${name} keeps the client contract`, () => {
    let given: Given;
    let client: Client;
    beforeEach(async () => {
      given = await start();
      client = given.client;
      return () => given[Symbol.asyncDispose]();
    });
    const countdown = async (start = 5) => {
      const session = await client.make<Remaining, Amount>("countdown-v1", { options: { start } });
      await session.reset({ seed: 1 });
      return session;
    };

    test("an episode runs from reset to its end, and a step after that needs a reset", async () => {
      const session = await client.make<Remaining, Amount>("countdown-v1");
      const reset = await session.reset({ seed: 4, options: { start: 4 } });
      expect(reset).toMatchObject({ observation: { remaining: 4 }, seed: 4, index: 0, task: null });
      expect(await session.step({ amount: 3 })).toMatchObject({
        observation: { remaining: 1 },
        reward: 0,
        terminated: false,
      });
      const last = await session.step({ amount: 1 });
      expect(last).toMatchObject({
        observation: { remaining: 0 },
        reward: 1,
        terminated: true,
        truncated: false,
        index: 2,
      });
      await expect(session.step({ amount: 1 })).rejects.toMatchObject({ name: "RESET_NEEDED" });
      expect(await session.observe()).toMatchObject({ status: "terminated", index: 2, episodeReturn: 1, seq: 3 });
      expect(await session.reset()).toMatchObject({ index: 0 });
    });

    test("the server's errors arrive by name, with their fields", async () => {
      await expect(client.make("countdwn-v1")).rejects.toMatchObject({
        name: "UNKNOWN_ENV",
        data: { suggestions: ["countdown-v1"] },
      });
      const session = await countdown();
      const error = await session.step({ amount: 9 }).catch((error: unknown) => error);
      expect(error).toBeInstanceOf(WireError);
      expect(error).toMatchObject({ name: "INVALID_ACTION", retryable: false });
      expect(await session.step({ amount: 1 })).toMatchObject({ index: 1 });
      await expect(session.restore("snap-none")).rejects.toMatchObject({ name: "UNKNOWN_SNAPSHOT" });
      await expect(client.attach("nobody")).rejects.toMatchObject({
        name: "UNKNOWN_SESSION",
        data: { reason: "unknown" },
      });
    });

    test("environments and their schemas are listed", async () => {
      const envs = await client.list();
      expect(envs.map(({ id }) => id).sort()).toEqual(["countdown-v1", "wait-v1"]);
      expect(envs[0]?.actionSchema).toHaveProperty("properties");
      expect(await Array.fromAsync(client.tasks("countdown-v1"))).toEqual([]);
    });

    test("forks and restores of one snapshot give the same replies to the same actions", async () => {
      const session = await countdown(9);
      await session.step({ amount: 2 });
      const snapshot = await session.snapshot("after two");
      const forks = await client.fork<Remaining, Amount>(snapshot, 2);
      const replies = await Promise.all(forks.map((fork) => fork.step({ amount: 3 })));
      await session.step({ amount: 1 });
      expect(await session.restore(snapshot)).toMatchObject({ observation: { remaining: 7 }, index: 1 });
      const again = await session.step({ amount: 3 });
      expect(replies).toEqual([again, again]);
      expect(again.observation).toEqual({ remaining: 4 });
    });

    test("a step whose reply is lost with its socket is answered late, once", async () => {
      const session = await countdown(100);
      given.deafen();
      const step = session.step({ amount: 1 });
      const probe = await given.another();
      while ((await probe.call("env/observe", { session: session.id })).index === 0) await sleep(5);
      given.cut();
      expect(await step).toMatchObject({ observation: { remaining: 99 }, index: 1 });
      expect(await session.step({ amount: 1 })).toMatchObject({ observation: { remaining: 98 }, index: 2 });
    });

    test("a step that runs while the socket is cut is joined, not started again", async () => {
      const session = await client.make("wait-v1");
      await session.reset();
      const begun = Promise.withResolvers<void>();
      const step = session.step({ ms: 300 }, { onProgress: () => begun.resolve() });
      await begun.promise;
      given.cut();
      expect(await step).toMatchObject({ observation: { waited: 300 }, index: 1 });
      expect(session.seq).toBe(2);
    });

    test("many cuts lose no step and play none twice", async () => {
      const sessions = await Promise.all(Array.from({ length: 4 }, () => countdown(1000)));
      let playing = true;
      const cutting = (async () => {
        while (playing) {
          await sleep(15);
          given.cut();
        }
      })();
      const rest = await Promise.all(
        sessions.map(async (session) => {
          let remaining = 1000;
          for (let i = 1; i <= 150; i++) {
            const { observation, index } = await session.step({ amount: 1 });
            expect([observation.remaining, index]).toEqual([1000 - i, i]);
            remaining = observation.remaining;
            if (i % 25 === 0) await sleep(10);
          }
          return remaining;
        }),
      );
      playing = false;
      await cutting;
      expect(rest).toEqual([850, 850, 850, 850]);
    });

    test("another client takes a session over, and the first is told instead of skipping", async () => {
      const session = await countdown(9);
      const guest = await (await given.another()).attach<Remaining, Amount>(session.id);
      expect(await guest.step({ amount: 3 })).toMatchObject({ observation: { remaining: 6 } });
      await expect(session.step({ amount: 1 })).rejects.toMatchObject({ name: "SEQ_CONFLICT", data: { expected: 2 } });
      expect(await session.resync()).toMatchObject({ seq: 2, observation: { remaining: 6 } });
      expect(await session.step({ amount: 1 })).toMatchObject({ observation: { remaining: 5 } });
    });

    test("one mutating call at a time", async () => {
      const session = await client.make("wait-v1");
      await session.reset();
      const step = session.step({ ms: 30 });
      await expect(session.step({ ms: 1 })).rejects.toBeInstanceOf(SessionBusy);
      expect(await session.observe()).toMatchObject({ index: 0 });
      expect(await step).toMatchObject({ index: 1 });
    });

    test("an aborted step ends at the server too, and changes nothing", async () => {
      const session = await client.make("wait-v1");
      await session.reset();
      const before = await session.observe();
      const controller = new AbortController();
      const progress: unknown[] = [];
      const step = session.step(
        { ms: 60_000 },
        {
          signal: controller.signal,
          onProgress: (heard) => {
            progress.push(heard.fraction);
            controller.abort(new Error("no longer wanted"));
          },
        },
      );
      await expect(step).rejects.toThrow("no longer wanted");
      expect(progress).toEqual([0.5]);
      expect(await session.observe()).toEqual(before);
      expect(await session.step({ ms: 1 })).toMatchObject({ observation: { waited: 1 } });
    });

    // The dead socket's request does not count as one that still waits for the trial.
    test("an abort ends a step that was begun on a socket which is gone", async () => {
      const session = await client.make<{ waited: number }>("wait-v1");
      await session.reset();
      const controller = new AbortController();
      const begun = Promise.withResolvers<void>();
      const step = session.step({ ms: 500 }, { signal: controller.signal, onProgress: () => begun.resolve() });
      await begun.promise;
      given.cut();
      // Answered over the new socket, on which the step has been joined before.
      await session.observe();
      controller.abort(new Error("stop"));
      await expect(step).rejects.toThrow("stop");
      expect(await session.step({ ms: 1 })).toMatchObject({ index: 1, observation: { waited: 1 } });
    });

    test("whenever an abort comes, the step has happened or not, and the next one fits", async () => {
      const session = await client.make<{ waited: number }>("wait-v1");
      await session.reset();
      let index = 0;
      for (let i = 0; i < 30; i++) {
        const controller = new AbortController();
        const step = session.step({ ms: 4 }, { signal: controller.signal });
        setTimeout(() => controller.abort(new Error("stop")), i % 10);
        try {
          ({ index } = await step);
        } catch (error) {
          if (error instanceof LateCommit) throw error;
          expect(error).toMatchObject({ message: "stop" });
        }
        expect(await session.observe()).toMatchObject({ index, observation: { waited: 4 * index } });
      }
      expect(await session.step({ ms: 1 })).toMatchObject({ index: index + 1 });
    });

    test("a deadline stops the step, and the session goes on", async () => {
      const session = await client.make("wait-v1");
      await session.reset();
      await expect(session.step({ ms: 60_000 }, { timeoutMs: 30 })).rejects.toMatchObject({
        name: "DEADLINE",
        data: { timeoutMs: 30 },
      });
      expect(await session.step({ ms: 1 })).toMatchObject({ index: 1 });
    });

    test("a vector steps with one frame, and passes each autoreset mode through", async () => {
      const play = async (autoreset: "disabled" | "nextStep" | "sameStep") => {
        await using vector = await client.vector<Remaining, Amount>("countdown-v1", 3, {
          autoreset,
          options: { start: 3 },
        });
        const { observations } = await vector.reset({ seed: 1 });
        expect(observations).toEqual(Array(3).fill({ remaining: 3 }));
        const steps: VectorStep<Remaining>[] = [];
        for (let i = 0; i < 2; i++) steps.push(await vector.step([{ amount: 3 }, { amount: 1 }, { amount: 9 }]));
        return steps as [VectorStep<Remaining>, VectorStep<Remaining>];
      };
      const [first, second] = await play("disabled");
      expect(first.observations).toEqual([{ remaining: 0 }, { remaining: 2 }, undefined]);
      expect(first.rewards).toEqual(Float64Array.of(1, 0, NaN));
      expect(first.terminated).toEqual([true, false, false]);
      expect(first.errors).toMatchObject([undefined, undefined, { name: "INVALID_ACTION" }]);
      expect(second.errors).toMatchObject([{ name: "RESET_NEEDED" }, undefined, { name: "INVALID_ACTION" }]);
      const [, next] = await play("nextStep");
      expect(next.observations[0]).toEqual({ remaining: 3 });
      expect(next.rewards[0]).toBe(0);
      const [same] = await play("sameStep");
      expect(same.observations[0]).toEqual({ remaining: 3 });
      expect(same.finalObservations[0]).toEqual({ remaining: 0 });
      expect(same.terminated[0]).toBe(true);
    });

    test("a vector loses nothing with its socket", async () => {
      await using vector = await client.vector<Remaining, Amount>("countdown-v1", 8, { options: { start: 1000 } });
      await vector.reset();
      for (let i = 1; i <= 40; i++) {
        if (i % 10 === 3) given.deafen();
        const step = vector.step(Array<Amount>(8).fill({ amount: 1 }));
        if (i % 10 === 3) setTimeout(() => given.cut(), 10);
        expect((await step).observations).toEqual(Array(8).fill({ remaining: 1000 - i }));
      }
    });

    test("what is disposed leaves no session behind", async () => {
      {
        await using session = await countdown();
        await using vector = await client.vector("countdown-v1", 3);
        await session.fork(2);
        expect(given.sessions()).toBe(6);
        expect(vector.size).toBe(3);
      }
      expect(given.sessions()).toBe(2);
      await client.close();
      expect(given.sessions()).toBe(0);
    });

    test("closing twice is one answer, and a closed session is unknown to others", async () => {
      const session = await countdown();
      await session.close();
      await session.close();
      expect(await client.call("env/close", { session: session.id })).toMatchObject({ closed: true });
      await expect(client.attach(session.id)).rejects.toMatchObject({
        name: "UNKNOWN_SESSION",
        data: { reason: "closed" },
      });
    });
  });
}
