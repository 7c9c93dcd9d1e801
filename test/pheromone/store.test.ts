import { PheromoneError, PheromoneStore, PheromoneTable } from "trailgym/pheromone";
import { describe, expect, test } from "vitest";

const offer = { table: "run", tools: ["search", "read"], verified: true };

describe("a store of tables", () => {
  test("answers a name without deposits as a trail that nobody has walked, and keeps nothing of it", () => {
    const store = new PheromoneStore();
    const answer = store.query({ table: "run", context: { candidates: ["a", "b"] } });
    expect(answer).toEqual({ bias: { a: 0, b: 0 }, confidence: 0, version: 0 });
    expect(store.names).toEqual([]);
  });

  test("deposits what was verified and biases towards it, at the first step and after a tool", () => {
    const store = new PheromoneStore();
    expect(store.deposit({ ...offer, stop: "STOP" })).toEqual({ version: 1, deposited: true });
    const first = store.query({ table: "run", context: {} });
    expect(first.version).toBe(1);
    expect(Object.keys(first.bias)).toEqual(["search", "read", "STOP"]);
    expect(first.bias.search).toBeCloseTo(Math.log(1.49), 12);
    expect(first.bias.read).toBeCloseTo(Math.log(0.99), 12);
    const last = store.query({ table: "run", context: { previousTool: "read", candidates: ["STOP", "new"] } });
    expect(last.bias.STOP).toBeCloseTo(Math.log(1.49), 12);
    expect(last.bias.new).toBeCloseTo(Math.log(0.99), 12);
  });

  test("deposits nothing unless somebody vouches for it, and says so", () => {
    const store = new PheromoneStore();
    expect(store.deposit({ table: "run", tools: ["a"] })).toEqual({ version: 1, deposited: false });
    expect(store.deposit({ ...offer, verified: false })).toEqual({ version: 2, deposited: false });
    expect(store.get("run")?.tool.rows.size).toBe(0);
  });

  test("does not take STOP for a step of the match", () => {
    const store = new PheromoneStore();
    const answer = store.deposit({ table: "run", tools: ["a", "b"], reference: ["a", "b", "STOP"], stop: "STOP" });
    expect(answer.deposited).toBe(false);
    expect(store.deposit({ table: "run", tools: ["a", "b"], reference: ["a", "b"], stop: "STOP" }).deposited).toBe(
      true,
    );
  });

  test("biases towards invocations too", () => {
    const store = new PheromoneStore();
    store.deposit({ ...offer, patterns: ["query", null], stop: "STOP" });
    const context = { level: "argument" as const, previousTool: "search", candidates: ["query", "url"] };
    const { bias } = store.query({ table: "run", context });
    expect(bias.query).toBeCloseTo(Math.log(0.995 + 0.3), 12);
    expect(bias.url).toBeCloseTo(Math.log(0.995), 12);
  });

  test("is confident about tasks like those it has seen, the more the nearer, and not about others", () => {
    const store = new PheromoneStore({ options: { memory: { enough: 1 } } });
    store.deposit({ ...offer, embedding: [1, 0] });
    const confidence = (embedding: number[]) => store.query({ table: "run", context: { embedding } }).confidence;
    expect(confidence([1, 0])).toBeCloseTo(1, 12);
    expect(confidence([1, 1])).toBeCloseTo(Math.SQRT1_2, 12);
    expect(confidence([0, 1])).toBe(0);
    expect(confidence([0, 0])).toBe(0);
  });

  test("answers the same embedding by what was deposited since, too", () => {
    const store = new PheromoneStore({ options: { memory: { enough: 1 } } });
    const embedding = [0, 1];
    const ask = () => store.query({ table: "run", context: { embedding } }).confidence;
    store.deposit({ ...offer, embedding: [1, 0] });
    expect(ask()).toBe(0);
    store.deposit({ ...offer, embedding: [0, 1] });
    expect(ask()).toBe(1);
  });

  test("keeps tables apart, and no more than it may", () => {
    const store = new PheromoneStore({ maxTables: 2 });
    store.deposit(offer);
    store.deposit({ ...offer, table: "other", tools: ["a"] });
    expect(Object.keys(store.query({ table: "other", context: {} }).bias)).toEqual(["a"]);
    expect(() => store.deposit({ ...offer, table: "third" })).toThrow(PheromoneError);
    expect(store.names).toEqual(["run", "other"]);
    store.set("run", new PheromoneTable());
    expect(store.query({ table: "run", context: {} }).version).toBe(0);
  });

  test("has no table after an offer that made no sense", () => {
    const store = new PheromoneStore();
    expect(() => store.deposit({ ...offer, quality: NaN })).toThrow(RangeError);
    expect(() => store.deposit({ ...offer, tools: [""] })).toThrow(RangeError);
    expect(store.names).toEqual([]);
  });

  test("takes names of any kind as keys of a bias", () => {
    const store = new PheromoneStore();
    store.deposit({ ...offer, tools: ["__proto__"] });
    const { bias } = store.query({ table: "run", context: {} });
    expect(Object.entries(bias)).toEqual([["__proto__", expect.closeTo(Math.log(1.49), 12)]]);
  });

  test("is saved and loaded whole, or not at all", () => {
    const store = new PheromoneStore();
    store.deposit(offer);
    store.deposit({ ...offer, table: "other" });
    const other = new PheromoneStore();
    other.load(store.save());
    expect(other.save()).toEqual(store.save());
    const before = other.save();
    expect(() => other.load({ new: store.save().run!, bad: "{}" })).toThrow(PheromoneError);
    expect(other.save()).toEqual(before);
  });
});
