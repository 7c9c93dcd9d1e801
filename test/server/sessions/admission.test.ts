import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { WireError } from "trailgym/protocol";
import { Admission, type Ticket } from "../../../server/sessions/admission.ts";

const roomy = { size: 2, maxQueue: 100 };

const never = WireError.of("CANCELLED", "enough", {});

/** Somebody who is inside or waits, and may leave either way. */
interface Guest {
  readonly ticket: Ticket;
  readonly inside: boolean;
  leave(): void;
}

function guest(admission: Admission, name: string, limit?: number, onIn?: () => void): Guest {
  const ticket = admission.enter({ name, limit });
  const state = { ticket, inside: false, leave };
  function leave() {
    if (state.inside) admission.leave(name);
    else ticket.giveUp(never);
  }
  void ticket.admitted.then(
    () => {
      state.inside = true;
      onIn?.();
    },
    () => undefined,
  );
  return state;
}

/** Notes in which order those who wait go in. */
function line(admission: Admission, limit?: number) {
  const order: string[] = [];
  const enter = (owner: string, name = owner) => guest(admission, owner, limit, () => order.push(name));
  return { order, enter };
}

describe("a full house", () => {
  test("lets owners take turns, each owner's oldest first", async () => {
    const admission = new Admission({ ...roomy, size: 1 });
    const { order, enter } = line(admission);
    const guests = [
      enter("a", "a0"),
      enter("a", "a1"),
      enter("a", "a2"),
      enter("b", "b1"),
      enter("c", "c1"),
      enter("b", "b2"),
    ];
    for (const each of [guests[0], guests[1], guests[3], guests[4], guests[2], guests[5]]) {
      await Promise.resolve();
      each?.leave();
    }
    await Promise.resolve();
    expect(order).toEqual(["a0", "a1", "b1", "c1", "a2", "b2"]);
    expect([admission.inside, admission.waiting]).toEqual([0, 0]);
  });

  test("tells each its place, at once and again while it waits", async () => {
    const admission = new Admission({ ...roomy, size: 1 });
    admission.takeUp("a");
    const places: Record<string, number[]> = { a1: [], a2: [], b1: [] };
    const waiting = [
      admission.enter({ name: "a" }, (n) => places["a1"]?.push(n)),
      admission.enter({ name: "a" }, (n) => places["a2"]?.push(n)),
      admission.enter({ name: "b" }, (n) => places["b1"]?.push(n)),
    ];
    expect(places).toEqual({ a1: [1], a2: [2], b1: [2] });
    await new Promise((resolve) => setTimeout(resolve, 150));
    expect(places).toEqual({ a1: [1, 1], a2: [2, 3], b1: [2, 2] });
    for (const ticket of waiting) ticket.giveUp(never);
    expect(admission.waiting).toBe(0);
  });

  test("refuses with CAPACITY when too many wait", () => {
    const admission = new Admission({ size: 1, maxQueue: 1 });
    admission.takeUp("a");
    const second = admission.enter({ name: "b" });
    const refusal = { name: "CAPACITY", data: { retryAfterMs: 1000, position: 2 } };
    expect(() => admission.enter({ name: "c" })).toThrow(expect.objectContaining(refusal) as Error);
    second.giveUp(never);
    admission.leave("a");
    expect(admission.tryEnter({ name: "c" })).toBe(true);
    admission.leave("c");
  });

  test("gives a place up with the reason that was given", async () => {
    const admission = new Admission({ ...roomy, size: 1 });
    admission.takeUp("a");
    const ticket = admission.enter({ name: "b" });
    ticket.giveUp(WireError.of("DEADLINE", "too late", { timeoutMs: 5 }));
    await expect(ticket.admitted).rejects.toMatchObject({ name: "DEADLINE" });
    admission.leave("a");
    expect(admission.inside).toBe(0);
  });

  test("tells all who wait that it is over", async () => {
    const admission = new Admission({ ...roomy, size: 1 });
    admission.takeUp("a");
    const waiting = ["a", "b", "b"].map((name) => admission.enter({ name }).admitted);
    admission.refuseAll(WireError.of("SHUTTING_DOWN", "over", { retryAfterMs: 1 }));
    const ends = await Promise.allSettled(waiting);
    expect(ends.map(({ status }) => status)).toEqual(["rejected", "rejected", "rejected"]);
    expect([admission.inside, admission.waiting]).toEqual([1, 0]);
  });

  test("whoever gives up when let in already is inside all the same", async () => {
    const admission = new Admission({ ...roomy, size: 1 });
    admission.takeUp("a");
    const ticket = admission.enter({ name: "b" });
    admission.leave("a");
    ticket.giveUp(never);
    await ticket.admitted;
    expect(admission.inside).toBe(1);
  });
});

test("an owner at its own limit waits while there is room, and delays nobody", async () => {
  const admission = new Admission({ size: 4, maxQueue: 10 });
  const { order, enter } = line(admission, 1);
  const first = enter("a", "a1");
  enter("a", "a2");
  enter("b", "b1");
  await Promise.resolve();
  expect(order).toEqual(["a1", "b1"]);
  first.leave();
  await Promise.resolve();
  expect(order).toEqual(["a1", "b1", "a2"]);
});

test("whatever comes and goes, no bound is passed, nobody is lost, and room is used", async () => {
  const owner = fc.constantFrom("a", "b", "c");
  const move = fc.oneof(
    fc.record({ do: fc.constant("enter" as const), owner }),
    fc.record({ do: fc.constant("leave" as const), pick: fc.nat() }),
  );
  await fc.assert(
    fc.asyncProperty(
      fc.array(move, { maxLength: 60 }),
      fc.integer({ min: 1, max: 4 }),
      fc.integer({ min: 1, max: 3 }),
      async (moves, size, perOwner) => {
        const admission = new Admission({ size, maxQueue: 1000 });
        const open: { owner: string; guest: Guest }[] = [];
        for (const each of moves) {
          if (each.do === "enter") {
            open.push({ owner: each.owner, guest: guest(admission, each.owner, perOwner) });
          } else if (open.length > 0) {
            const [gone] = open.splice(each.pick % open.length, 1);
            gone?.guest.leave();
          }
          await new Promise((resolve) => setImmediate(resolve));
          const inside = open.filter((entry) => entry.guest.inside);
          const of = (name: string, list = open) => list.filter((entry) => entry.owner === name).length;
          expect(admission.inside).toBe(inside.length);
          expect(admission.waiting).toBe(open.length - inside.length);
          expect(inside.length).toBeLessThanOrEqual(size);
          for (const name of ["a", "b", "c"]) {
            expect(of(name, inside)).toBeLessThanOrEqual(perOwner);
            // Whoever waits has a reason to.
            if (of(name) > of(name, inside)) expect(inside.length === size || of(name, inside) === perOwner).toBe(true);
          }
        }
        for (const each of open) {
          each.guest.leave();
          await new Promise((resolve) => setImmediate(resolve));
        }
        expect([admission.inside, admission.waiting]).toEqual([0, 0]);
      },
    ),
    { numRuns: 100 },
  );
});
