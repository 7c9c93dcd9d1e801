/** Any deposit among few tools and few tasks, so that they meet. */

import fc from "fast-check";
import type { Deposit } from "trailgym/pheromone";

const quality = fc.oneof(fc.constantFrom(0, 0.3, 0.5, 1), fc.double({ min: 0, max: 1, noNaN: true }));
const embedding = fc.constantFrom([1, 0, 0], [0.9, 0.1, 0], [0, 1, 0.3], [0.5, 0.5, 0.5], [-1, 0, 0.2], [0, 0, 0]);

export const anyDeposit: fc.Arbitrary<Deposit> = fc
  .record({
    steps: fc.array(fc.tuple(fc.constantFrom("a", "b", "c", "d"), fc.constantFrom("x", "y", null)), { maxLength: 5 }),
    quality,
    deposit: fc.boolean(),
    remember: fc.boolean(),
    embedding: fc.option(embedding, { nil: undefined }),
    named: fc.boolean(),
  })
  .map(({ steps, embedding, named, ...rest }) => ({
    ...rest,
    tools: steps.map(([tool]) => tool),
    ...(named && { patterns: steps.map(([, pattern]) => pattern) }),
    ...(embedding && { embedding }),
  }));
