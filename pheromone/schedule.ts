/** How large is a quantity now? What a trail needs of schedules: β, w, p_tf and λ rise or fall along a counter. */

import { z } from "zod";

const unit = z.enum(["update", "epoch", "verifiedCount"]);

const ramp = {
  from: z.number(),
  to: z.number(),
  over: z.number().min(0).describe("counts from the first value to the last; 0: a jump"),
  start: z.number().min(0).optional().describe("count at which it begins; default 0"),
  unit,
};

/** A number is a constant. `steps`: `values[i]` from `at[i-1]` on, so there is one value more than boundaries. */
export const schedule = z.union([
  z.number(),
  z.discriminatedUnion("kind", [
    z.strictObject({ kind: z.literal("const"), value: z.number() }),
    z.strictObject({ kind: z.literal("linear"), ...ramp }),
    z.strictObject({ kind: z.literal("cosine"), ...ramp }),
    z
      .strictObject({
        kind: z.literal("steps"),
        values: z.array(z.number()).readonly(),
        at: z.array(z.number()).readonly(),
        unit,
      })
      .refine(({ values, at }) => values.length === at.length + 1, "steps need one value more than boundaries")
      .refine(({ at }) => at.every((count, i) => i === 0 || count > (at[i - 1] as number)), "boundaries must rise"),
  ]),
]);

export type Schedule = z.infer<typeof schedule>;
export type Counters = Readonly<Record<z.infer<typeof unit>, number>>;

/** A pure function of the counters: there is nothing else to save. Before and after a ramp, its ends. */
export function scheduled(each: Schedule, counters: Counters): number {
  if (typeof each === "number") return each;
  switch (each.kind) {
    case "const":
      return each.value;
    case "linear":
      return between(each, progress(each, counters));
    case "cosine":
      return between(each, (1 - Math.cos(Math.PI * progress(each, counters))) / 2);
    case "steps":
      return each.values[each.at.filter((boundary) => counters[each.unit] >= boundary).length] as number;
  }
}

type Ramp = Extract<Schedule, { over: number }>;

function progress({ start = 0, over, unit }: Ramp, counters: Counters): number {
  const passed = counters[unit] - start;
  if (over === 0) return passed >= 0 ? 1 : 0;
  return Math.min(1, Math.max(0, passed / over));
}

/** Exactly `to` at the end, which from + (to − from) need not be. */
function between({ from, to }: Ramp, share: number): number {
  return share === 1 ? to : from + (to - from) * share;
}
