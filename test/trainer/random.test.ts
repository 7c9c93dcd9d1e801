import { expect, test } from "vitest";
import { randomAt, streams } from "../../trainer/random.ts";

test("a place has its own numbers, and always the same", () => {
  const place = { update: 3, task: 17, rollout: 2, step: 5 };
  const draw = () => randomAt(7, "sampling", place).float();
  expect(draw()).toBe(draw());
  const neighbours = [
    randomAt(8, "sampling", place),
    ...streams.filter((stream) => stream !== "sampling").map((stream) => randomAt(7, stream, place)),
    ...(["update", "task", "rollout", "step"] as const).flatMap((key) =>
      [1, -1].map((by) => randomAt(7, "sampling", { ...place, [key]: place[key] + by })),
    ),
    // Equal keys in other places.
    randomAt(7, "sampling", { update: 17, task: 3, rollout: 2, step: 5 }),
    randomAt(7, "sampling", { update: 3, task: 17, rollout: 5, step: 2 }),
  ].map((random) => random.float());
  expect(new Set([draw(), ...neighbours]).size).toBe(neighbours.length + 1);
});

test("first numbers of neighbouring places are uniform together", () => {
  const counts = new Array<number>(10).fill(0);
  for (let task = 0; task < 40; task++) {
    for (let step = 0; step < 25; step++) counts[Math.floor(10 * randomAt(1, "sampling", { task, step }).float())]!++;
  }
  const chi = counts.reduce((sum, n) => sum + (n - 100) ** 2 / 100, 0);
  // 9 degrees of freedom: 27.9 is passed once in a thousand, and the seed is fixed.
  expect(chi).toBeLessThan(27.9);
});
