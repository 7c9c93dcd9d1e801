import { describe, expect, test } from "vitest";
import { slotFeatureNames } from "../../../trainer/policy/arguments.ts";
import { type Candidate, candidatesFor, reachable, type SlotQuestion } from "../../../trainer/policy/values.ts";

const task =
  'Book a table for 4 people at "Chez Marie" in New York City on 2026-03-14, then mail ann.lee@example.org the file ./menus/spring.pdf (city code 050000, budget 1,200.50).';

const ask = (question: Partial<SlotQuestion>) =>
  candidatesFor({ name: "value", schema: { type: "string" }, task, outputs: [], limit: 200, ...question });
const values = (found: readonly Candidate[]) => found.map(({ value }) => value);
const feature = (candidate: Candidate, name: (typeof slotFeatureNames)[number]) =>
  candidate.features[slotFeatureNames.indexOf(name)];

describe("candidates of a slot", () => {
  test("are the quoted strings, names, dates, addresses, paths and numbers of the task", () => {
    expect(values(ask({}))).toEqual(
      expect.arrayContaining([
        "Chez Marie",
        "New York City",
        "2026-03-14",
        "ann.lee@example.org",
        "./menus/spring.pdf",
        "050000",
        "4",
        "budget",
      ]),
    );
  });

  test("have the property's type: numbers for a number, lists for a list, nothing that cannot be", () => {
    expect(values(ask({ schema: { type: "integer" } }))).toContain(4);
    expect(values(ask({ schema: { type: "number" } }))).toContain(1200.5);
    expect(values(ask({ schema: { type: "integer" } })).every(Number.isInteger)).toBe(true);
    expect(values(ask({ schema: { type: "array", items: { type: "integer" } } }))).toContainEqual([4]);
    expect(values(ask({ schema: { type: "boolean" } }))).toEqual([true, false]);
    expect(values(ask({ schema: { type: "object" } }))).toEqual([]);
  });

  test("of an enumeration are its members, however the task writes them", () => {
    const schema = { type: "string", enum: ["menu", "TABLE", "bill"] };
    expect(values(ask({ schema }))).toEqual(["menu", "TABLE", "bill"]);
  });

  test("hold the leaves of earlier results, the latest first, with their paths", () => {
    const outputs = [{ id: 7, guests: [{ name: "Ann" }] }, "{'kode_wilayah': '052400', 'kb': 405, 'prov': 'Jawa Ti"];
    const found = ask({ outputs, name: "kode" });
    expect(values(found)).toEqual(expect.arrayContaining(["052400", "405", "7", "Ann"]));
    const [late, early] = ["052400", "Ann"].map((value) => found.find((each) => each.value === value)!);
    expect(feature(late!, "fromOutput")).toBe(1);
    expect(feature(late!, "recency")).toBeGreaterThan(feature(early!, "recency")!);
    expect(feature(late!, "nameInContext")).toBe(1);
    expect(early!.text).toBe("Ann guests name");
  });

  test("know the words around a value: the property's name beside it counts", () => {
    const found = ask({ name: "city_code" });
    const shared = (value: string) =>
      feature(
        found.find((each) => each.value === value)!,
        "nameInContext",
      );
    expect(shared("050000")).toBe(1);
    expect(shared("Chez Marie")).toBeLessThan(1);
    expect(shared("4")).toBe(0);
  });

  test("hold what the training split used, by how often, and each value once", () => {
    const seen = [
      { value: "en", count: 1 },
      { value: "fr", count: 3 },
      { value: "Chez Marie", count: 9 },
    ];
    const found = ask({ seen });
    expect(values(found).filter((value) => value === "Chez Marie")).toHaveLength(1);
    expect(
      feature(
        found.find(({ value }) => value === "fr")!,
        "frequency",
      ),
    ).toBeCloseTo(3 / 13, 9);
    expect(values(found).indexOf("fr")).toBeLessThan(values(found).indexOf("en"));
  });

  test("are at most so many", () => {
    expect(ask({ limit: 5 })).toHaveLength(5);
  });
});

test("a reference's value is found by its value, else by how it reads, else it is out of reach", () => {
  const found = ask({});
  expect(found[reachable(found, "Chez Marie")]!.value).toBe("Chez Marie");
  expect(found[reachable(found, 4)]!.value).toBe("4");
  expect(found[reachable(found, "chez marie ")]!.value).toBe("Chez Marie");
  expect(reachable(found, "Tokyo")).toBe(-1);
});
