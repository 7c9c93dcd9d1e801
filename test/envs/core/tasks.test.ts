import fc from "fast-check";
import { taskList } from "trailgym/env";
import { describe, expect, test } from "vitest";

const tasks = (prefix: string, count: number) =>
  Array.from({ length: count }, (_, i) => ({ id: `${prefix}-${i}`, question: `q${i}`, answer: `a${i}` }));

const source = taskList(
  { train: tasks("train", 5), test: tasks("test", 2) },
  ({ id, question }) => ({ id, question }),
  ["sums"],
);

describe("a task list", () => {
  test("names its splits in order, the first being the default", () => {
    expect(source.splits()).toEqual(["train", "test"]);
    expect(source.families?.()).toEqual(["sums"]);
  });

  test("shows the public fields, and keeps the rest for get", () => {
    expect(source.list("test", undefined, 10).tasks).toEqual([
      { id: "test-0", question: "q0" },
      { id: "test-1", question: "q1" },
    ]);
    expect(source.get("test-1")).toEqual({ id: "test-1", question: "q1", answer: "a1" });
  });

  test("shows the id alone when nothing is said about public fields", () => {
    expect(taskList({ all: tasks("t", 1) }).list("all", undefined, 1).tasks).toEqual([{ id: "t-0" }]);
  });

  test("pages through every task once, in a fixed order, whatever the limit", () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 9 }), fc.constantFrom("train", "test", undefined), (limit, split) => {
        const ids: string[] = [];
        let cursor: string | undefined;
        do {
          const page = source.list(split, cursor, limit);
          expect(page.total).toBe(split === undefined ? 7 : source.size(split));
          expect(page.tasks.length).toBeLessThanOrEqual(limit);
          ids.push(...page.tasks.map(({ id }) => id));
          cursor = page.nextCursor;
        } while (cursor !== undefined);
        const all = (split === undefined ? ["train", "test"] : [split]).flatMap((each) =>
          Array.from({ length: source.size(each) }, (_, i) => source.pick(each, i)),
        );
        expect(ids).toEqual(all);
      }),
    );
  });

  test.each(["-3", "x", "", "NaN", "1e400", "999"])(
    "takes the cursor %j, which is none of its own, for a page",
    (cursor) => {
      expect(source.list("train", cursor, 2).total).toBe(5);
    },
  );

  test.each(["dev", "__proto__", "constructor", ""])("has nothing in a split %j that it does not know", (split) => {
    expect(source.list(split, undefined, 5)).toEqual({ tasks: [], total: 0 });
    expect(source.size(split)).toBe(0);
    expect(source.pick(split, 0)).toBeUndefined();
  });

  test.each([-1, 5, 0.5, NaN])("picks nothing at %d", (index) => expect(source.pick("train", index)).toBeUndefined());

  test.each(["train-9", "__proto__", "constructor"])("gets nothing for the id %j", (id) =>
    expect(source.get(id)).toBeUndefined(),
  );

  test("refuses two tasks of one id, in different splits too", () => {
    expect(() => taskList({ a: [{ id: "x" }], b: [{ id: "x" }] })).toThrow('two tasks have the id "x"');
  });
});
