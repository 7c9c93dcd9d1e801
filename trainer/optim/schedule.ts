/** How large is a quantity now? Learning rate, λ, p_tf, β, w and the horizon follow such schedules. */

export type Unit = "update" | "epoch" | "verifiedCount";

export type Schedule =
  | number
  /** From `from` to `to` while the unit counts from `start` (default 0) to `start + over`; before and after, its ends. */
  | { kind: "linear" | "cosine"; from: number; to: number; over: number; start?: number; unit: Unit }
  /** `values[i]` from `at[i-1]` on; one more value than boundaries. */
  | { kind: "steps"; values: readonly number[]; at: readonly number[]; unit: Unit }
  /** Cosine from `from` to `to`, again and again (SGDR, Loshchilov & Hutter 2017), each period `growth` times the last. */
  | { kind: "cosine-restarts"; from: number; to: number; period: number; growth?: number; unit: Unit }
  /** Linear from 0 to the first value of `then`, which begins after the warm-up. */
  | { kind: "warmup"; over: number; unit: Unit; then: Schedule };

export type Counters = Readonly<Record<Unit, number>>;

/** A pure function of the counters, so a checkpoint has nothing to keep but them. @throws RangeError for a schedule without sense */
export function scheduled(schedule: Schedule, counters: Counters): number {
  if (typeof schedule === "number") return schedule;
  const count = counters[schedule.unit];
  switch (schedule.kind) {
    case "linear":
      return between(schedule.from, schedule.to, progress(count - (schedule.start ?? 0), schedule.over));
    case "cosine":
      return between(schedule.from, schedule.to, eased(progress(count - (schedule.start ?? 0), schedule.over)));
    case "steps": {
      const { values, at } = schedule;
      if (values.length !== at.length + 1) {
        throw new RangeError(`${at.length} boundaries need ${at.length + 1} values, not ${values.length}`);
      }
      return values[at.filter((boundary) => count >= boundary).length] as number;
    }
    case "cosine-restarts": {
      const { from, to, growth = 1 } = schedule;
      let { period } = schedule;
      if (!(period > 0 && growth >= 1)) throw new RangeError("a restart needs a period above 0 and a growth from 1");
      let into = count;
      while (into >= period) {
        into -= period;
        period *= growth;
      }
      return between(from, to, eased(into / period));
    }
    case "warmup": {
      const rest = { ...counters, [schedule.unit]: Math.max(0, count - schedule.over) };
      return progress(count, schedule.over) * scheduled(schedule.then, rest);
    }
  }
}

function progress(count: number, over: number): number {
  if (!(over >= 0)) throw new RangeError(`a schedule cannot run over ${over}`);
  return over === 0 ? (count >= 0 ? 1 : 0) : Math.min(1, Math.max(0, count / over));
}

function eased(share: number): number {
  return (1 - Math.cos(Math.PI * share)) / 2;
}

function between(from: number, to: number, share: number): number {
  return from + (to - from) * share;
}
