import fc from "fast-check";
import { expect, test } from "vitest";
import { deeperThan } from "../../server/depth.ts";

function depthOf(value: unknown): number {
  if (typeof value !== "object" || value === null) return 0;
  return 1 + Math.max(0, ...Object.values(value).map(depthOf));
}

test("the depth of a JSON text is that of what it parses to, strings full of brackets and quotes included", () => {
  const tricky = fc.string({ unit: fc.constantFrom("[", "]", "{", "}", '"', "\\", "a") });
  const value = fc.letrec((tie) => ({
    value: fc.oneof(
      { maxDepth: 9 },
      tricky,
      fc.array(tie("value"), { maxLength: 3 }),
      fc.dictionary(tricky, tie("value"), { maxKeys: 3 }),
    ),
  })).value;
  fc.assert(
    fc.property(value, fc.integer({ min: 1, max: 12 }), (any, limit) => {
      expect(deeperThan(limit, JSON.stringify(any))).toBe(depthOf(any) > limit);
    }),
  );
});

test("a text that never ends its string, or is all brackets, is told at once", () => {
  expect(deeperThan(64, '"' + "[".repeat(1e6))).toBe(false);
  expect(deeperThan(64, "[".repeat(1e6))).toBe(true);
  expect(deeperThan(64, '["' + '\\"'.repeat(1e6))).toBe(false);
});
