import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { WireError } from "trailgym/protocol";
import { Admission, type Ticket } from "../../../server/sessions/admission.ts";

const roomy = { size: 2, perOwner: 2, maxQueue: 100 };

/** Notes in which order those who wait go in. */
function line(admission: Admission) {
  const order: string[] = [];
  const enter = (owner: string, name = owner) => {
    const ticket = admission.enter(owner);
    void ticket.admitted.then(
      () => order.push(name),
      () => undefined,
    );
    return ticket;
  };
  return { order, enter };
}

describe("a full house", () => {
  test("lets owners take turns, each owner's oldest first", async () => {
    const admission = new Admission({ ...roomy, size: 1 });
    const { order, enter } = line(admission);
    const tickets = [
      enter("a", "a0"),
      enter("a", "a1"),
      enter("a", "a2"),
      enter("b", "b1"),
      enter("c", "c1"),
      enter("b", "b2"),
    ];
    for (const ticket of [tickets[0], tickets[1], tickets[3], tickets[4], tickets[2], tickets[5]]) {
      await Promise.resolve();
      (ticket as Ticket).leave();
    }
    await Promise.resolve();
    expect(order).toEqual(["a0", "a1", "b1", "c1", "a2", "b2"]);
    expect([admission.inside, admission.waiting]).toEqual([0, 0]);
  });

  test("tells each its place, at once and again while it waits", async () => {
    const admission = new Admission({ ...roomy, size: 1 });
    const holder = admission.enter("a");
    const places: Record<string, number[]> = { a1: [], a2: [], b1: [] };
    const waiting = [
      admission.enter("a", (n) => places["a1"]?.push(n)),
      admission.enter("a", (n) => places["a2"]?.push(n)),
      admission.enter("b", (n) => places["b1"]?.push(n)),
    ];
    expect(places).toEqual({ a1: [1], a2: [2], b1: [1] });
    await new Promise((resolve) => setTimeout(resolve, 150));
    expect(places).toEqual({ a1: [1, 1], a2: [2, 3], b1: [1, 2] });
    holder.leave();
    for (const ticket of waiting) ticket.leave();
  });

  test("refuses with CAPACITY when too many wait", () => {
    const admission = new Admission({ size: 1, perOwner: 1, maxQueue: 1 });
    const first = admission.enter("a");
    const second = admission.enter("b");
    const refusal = { name: "CAPACITY", data: { retryAfterMs: 1000, position: 2 } };
    expect(() => admission.enter("c")).toThrow(expect.objectContaining(refusal) as Error);
    first.leave();
    second.leave();
    expect(admission.tryEnter("c")).toBe(true);
    admission.leave("c");
  });

  test("gives a place up with the reason that was given", async () => {
    const admission = new Admission({ ...roomy, size: 1 });
    const holder = admission.enter("a");
    const ticket = admission.enter("b");
    ticket.leave(WireError.of("DEADLINE", "too late", { timeoutMs: 5 }));
    await expect(ticket.admitted).rejects.toMatchObject({ name: "DEADLINE" });
    holder.leave();
    expect(admission.inside).toBe(0);
  });
});

test("an owner at its own bound waits while there is room, and delays nobody", async () => {
  const admission = new Admission({ size: 4, perOwner: 1, maxQueue: 10 });
  const { order, enter } = line(admission);
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
        const admission = new Admission({ size, perOwner, maxQueue: 1000 });
        const open: { owner: string; ticket: Ticket; inside: boolean }[] = [];
        for (const each of moves) {
          if (each.do === "enter") {
            const entry = { owner: each.owner, ticket: admission.enter(each.owner), inside: false };
            entry.ticket.admitted.then(
              () => (entry.inside = true),
              () => undefined,
            );
            open.push(entry);
          } else if (open.length > 0) {
            const [gone] = open.splice(each.pick % open.length, 1);
            gone?.ticket.leave();
            gone?.ticket.leave();
          }
          await new Promise((resolve) => setImmediate(resolve));
          const inside = open.filter((entry) => entry.inside);
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
        for (const { ticket } of open) ticket.leave();
        expect([admission.inside, admission.waiting]).toEqual([0, 0]);
      },
    ),
    { numRuns: 100 },
  );
});
