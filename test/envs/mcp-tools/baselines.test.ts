import { describe, expect, it } from "vitest";
import { baselinesOf } from "../../../envs/mcp-tools/baselines/baselines.ts";
import { Bigram, scoreBigram } from "../../../envs/mcp-tools/baselines/bigram.ts";
import { TfIdf, wordsOf } from "../../../envs/mcp-tools/baselines/tfidf.ts";
import { trajectory } from "../../../envs/mcp-tools/trajectory.ts";

const one = (task: string, tools: string, more: object = {}) =>
  trajectory.parse({ id: task, task, reference: [...tools].map((tool) => ({ tool })), ...more });

describe("a bigram", () => {
  const train = [one("1", "abc"), one("2", "abd"), one("3", "abd"), one("4", "ba")];
  const bigram = new Bigram(train);

  it("predicts the most frequent successor, STOP among them", () => {
    // START: a 3, b 1. a: b 3, STOP 1. b: d 2, c 1, a 1. c, d: STOP.
    expect(["START", "a", "b", "c", "d", "x"].map((tool) => bigram.next(tool === "START" ? undefined : tool))).toEqual([
      "a",
      "b",
      "d",
      "STOP",
      "STOP",
      undefined,
    ]);
    expect(bigram.play(20)).toEqual(["a", "b", "d"]);
    expect(bigram.play(2)).toEqual(["a", "b"]);
  });

  it("of equally frequent successors predicts the one seen first", () => {
    expect(new Bigram([one("1", "ab"), one("2", "ac")]).next("a")).toBe("b");
  });

  it("is scored over every step, the first included, given the true tool before", () => {
    // Steps a b d right; then b: START→b wrong but seen, b→a wrong but seen, a→x wrong and new, x→d new.
    expect(scoreBigram(bigram, [one("5", "abd"), one("6", "baxd")])).toEqual({
      toolAccuracy: 3 / 7,
      edgeCoverage: 5 / 7,
    });
  });

  it("ends on a circle at the horizon", () => {
    expect(new Bigram([one("1", "abababab")]).play(5)).toEqual(["a", "b", "a", "b", "a"]);
  });
});

describe("TF-IDF", () => {
  it("weighs a word by its rarity and by how often it stands there", () => {
    const index = new TfIdf(["tea tea milk", "milk sugar"]);
    // idf(tea) = ln(3/2)+1, idf(milk) = ln(3/3)+1 = 1, idf(sugar) = ln(3/2)+1; tf(tea) = 1+ln 2.
    const [rare, twice] = [Math.log(1.5) + 1, 1 + Math.log(2)];
    const first = Math.hypot(twice * rare, 1);
    const second = Math.hypot(1, rare);
    const asked = Math.hypot(rare, 1);
    const [a, b] = index.cosines("Milk, and TEA!");
    expect(a).toBeCloseTo((twice * rare * rare + 1) / (first * asked), 12);
    expect(b).toBeCloseTo(1 / (second * asked), 12);
    expect([...index.cosines("coffee")]).toEqual([0, 0]);
  });

  it("takes words of any script", () => {
    expect(wordsOf("Größe 12: 查询 l'été")).toEqual(["größe", "12", "查询", "l", "été"]);
  });
});

describe("the baselines of a small set", () => {
  const train = [one("buy green tea", "ab"), one("water the beds", "cd"), one("water the roses", "cde")];
  const test = [one("buy black tea", "ab"), one("water the trees", "ce")];

  it("copy the training task whose request is most alike", () => {
    const { neighbour } = baselinesOf(train, test);
    // "cd" and "cde" are equally near; the first of them is copied. c right, e wrong.
    expect(neighbour).toMatchObject({ positional: (1 + 1 / 2) / 2, exact: 1 / 2, strict: 3 / 4 });
  });

  it("follow the likeliest successors", () => {
    const { bigram } = baselinesOf(train, test);
    // START→c, c→d, d→STOP (seen first): "cd" against "ab" and "ce".
    expect(bigram.greedy).toMatchObject({ positional: 1 / 4, exact: 0 });
    expect(bigram.toolAccuracy).toBe((1 + 1) / 4);
    expect(bigram.edgeCoverage).toBe(3 / 4);
  });

  it("call the tools whose names and descriptions are most alike, all that are known", () => {
    const tools = [
      { name: "a", description: "find tea" },
      { name: "b", description: "buy anything" },
      { name: "c", description: "list beds" },
      { name: "water-trees", description: "unused" },
    ];
    const { retrieval } = baselinesOf(train, test, { tools });
    // Mean length of the training tasks: 7/3, so 2 tools. For "buy black tea" they are a and b, in some order.
    expect(retrieval.ranked.inclusion).toBe((1 + 0) / 2);
    expect(retrieval.recallAt10).toBe(1);
  });

  it("need something to learn from and something to test", () => {
    expect(() => baselinesOf(train, [])).toThrow("3 tasks to learn from and 0 to test");
    expect(() => baselinesOf([], test)).toThrow();
  });
});
