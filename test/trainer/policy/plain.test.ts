import { describe, expect, test } from "vitest";
import { z } from "zod";
import countdown from "../../../envs/countdown/countdown.env.ts";
import { discreteActions, NotPlain, observationEncoder } from "../../../trainer/policy/plain.ts";

const schema = (shape: z.ZodType) => z.toJSONSchema(shape) as Record<string, unknown>;

describe("discrete actions", () => {
  test("of countdown are to take 1, 2 or 3", () => {
    expect(discreteActions(schema(countdown.action))).toEqual([{ amount: 1 }, { amount: 2 }, { amount: 3 }]);
  });

  test("are all combinations of an object's choices, with and without what is optional", () => {
    const shape = z.object({ move: z.enum(["up", "down"]), fast: z.boolean(), key: z.literal("k").optional() });
    expect(discreteActions(schema(shape))).toHaveLength(8);
    expect(discreteActions(schema(shape))).toContainEqual({ move: "down", fast: true, key: "k" });
    expect(discreteActions(schema(z.union([z.literal("a"), z.int().min(4).max(5)])))).toEqual(["a", 4, 5]);
  });

  test("that are not few are refused, by the name of what is at fault", () => {
    expect(() => discreteActions(schema(z.object({ text: z.string() })))).toThrow(/action\.text is not a choice/);
    expect(() => discreteActions(schema(z.object({ n: z.int().min(0).max(1e6) })))).toThrow(/action\.n has more than/);
    const many = z.object({ a: z.int().min(0).max(99), b: z.int().min(0).max(99) });
    expect(() => discreteActions(schema(many))).toThrow(NotPlain);
    expect(() => discreteActions(schema(z.int()))).toThrow(NotPlain);
  });
});

describe("an observation's vector", () => {
  const vector = (shape: z.ZodType, value: unknown) => [...observationEncoder(schema(shape)).encode(value)];
  const near = (values: number[]) => values.map((x) => expect.closeTo(x, 5) as number);

  test("of countdown holds what remains, as a size and as one of the small numbers", () => {
    expect(vector(countdown.observation, { remaining: 3 })).toEqual(near([0.3, Math.log(4), 0, 0, 0, 1, 0, 0, 0, 0]));
    expect(vector(countdown.observation, { remaining: 100 })).toEqual(
      near([10, Math.log(101), 0, 0, 0, 0, 0, 0, 0, 0]),
    );
    expect(vector(countdown.observation, { remaining: -2 })).toEqual(
      near([-0.2, -Math.log(3), 0, 0, 0, 0, 0, 0, 0, 0]),
    );
  });

  test("has the parts of objects and tuples one after another", () => {
    const shape = z.object({
      door: z.enum(["open", "shut"]),
      lit: z.boolean(),
      at: z.tuple([z.int().min(1).max(2), z.number()]),
    });
    expect(vector(shape, { door: "shut", lit: true, at: [2, -9] })).toEqual(
      near([0, 1, 1, 0.2, Math.log(3), 0, 1, -0.9, -Math.log(10)]),
    );
  });

  test("is refused for a schema without a size, and for a value that is not of the schema", () => {
    expect(() => observationEncoder(schema(z.object({ said: z.string() })))).toThrow(
      /observation\.said has no fixed size/,
    );
    expect(() => observationEncoder(schema(z.array(z.int())))).toThrow(NotPlain);
    const encoder = observationEncoder(schema(countdown.observation));
    for (const wrong of [{}, null, { remaining: "3" }, { remaining: NaN }]) {
      expect(() => encoder.encode(wrong)).toThrow(/observation\.remaining is/);
    }
    expect(() => vector(z.enum(["a"]), "b")).toThrow(/does not list/);
  });
});
