import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { describe, expect, test } from "vitest";
import { clausesOf } from "../../../trainer/text/clauses.ts";
import {
  chooseEncoder,
  loadEncoder,
  OtherEncoder,
  remembering,
  type TextEncoder,
} from "../../../trainer/text/encoder.ts";
import { MiniLm, MiniLmMissing } from "../../../trainer/text/minilm.ts";
import { HashedTfIdf, wordsOf } from "../../../trainer/text/tfidf.ts";
import { wordPieces } from "../../../trainer/text/wordpiece.ts";

const corpus = [
  "Get the weather forecast of a city",
  "Get the current weather of a city",
  "Get the exchange rate of a currency",
  "Send a message to a person",
  "Search the web for a page",
];
const cosine = (a: Float32Array, b: Float32Array) => a.reduce((sum, value, i) => sum + value * b[i]!, 0);

describe("hashed TF-IDF", () => {
  const encoder = HashedTfIdf.fit(corpus);

  test("gives vectors of length 1, the same each time, zeros for no words", async () => {
    const [a, again, empty] = await encoder.encode([corpus[0]!, corpus[0]!, " !? "]);
    expect(cosine(a!, a!)).toBeCloseTo(1, 5);
    expect(again).toEqual(a);
    expect(empty!.every((value) => value === 0)).toBe(true);
    expect(a).toHaveLength(384);
  });

  test("puts texts about the same thing near each other", async () => {
    const [query, weather, currency, message] = await encoder.encode([
      "what is the forecast for Berlin?",
      corpus[0]!,
      corpus[2]!,
      corpus[3]!,
    ]);
    expect(cosine(query!, weather!)).toBeGreaterThan(cosine(query!, currency!) + 0.1);
    expect(cosine(query!, weather!)).toBeGreaterThan(cosine(query!, message!) + 0.1);
  });

  test("lets a rare word weigh more than one that every text has", async () => {
    const fitted = HashedTfIdf.fit(Array.from({ length: 50 }, (_, i) => (i === 0 ? "alpha omega" : "alpha")));
    const [common, rare, both] = await fitted.encode(["alpha", "omega", "alpha omega"]);
    expect(cosine(both!, rare!)).toBeGreaterThan(cosine(both!, common!) + 0.3);
  });

  test("sees pieces of words: a plural or a typing error is near its word", async () => {
    const [word, plural, typo, other] = await encoder.encode(["currency", "currencies", "curency", "telephone"]);
    expect(cosine(word!, plural!)).toBeGreaterThan(0.2);
    expect(cosine(word!, typo!)).toBeGreaterThan(0.2);
    expect(Math.abs(cosine(word!, other!))).toBeLessThan(0.15);
  });

  test("comes back from a checkpoint, with its id; fitted on other texts it has another", async () => {
    const state = JSON.parse(JSON.stringify(encoder.save())) as ReturnType<typeof encoder.save>;
    const loaded = await loadEncoder(state);
    expect(loaded.id).toBe(encoder.id);
    expect(await loaded.encode(corpus)).toEqual(await encoder.encode(corpus));
    expect(HashedTfIdf.fit([...corpus, corpus[0]!]).id).not.toBe(encoder.id);
  });

  test("splits words as identifiers are", () => {
    expect(wordsOf("getUserID-2 HTTPServer naïve 北京")).toEqual([
      "get",
      "user",
      "id",
      "2",
      "http",
      "server",
      "naïve",
      "北京",
    ]);
  });
});

test("remembering gives equal texts the same array, asks once, and forgets the least recently used", async () => {
  const asked: string[] = [];
  const counting: TextEncoder = {
    id: "counting",
    width: 1,
    save: () => HashedTfIdf.fit([]).save(),
    encode: (texts) => {
      asked.push(...texts);
      return Promise.resolve(texts.map((text) => Float32Array.from([text.length])));
    },
  };
  const encoder = remembering(counting, 2);
  const [a, same] = await encoder.encode(["aa", "aa"]);
  expect(same).toBe(a);
  await encoder.encode(["b"]);
  expect((await encoder.encode(["aa", "c"]))[0]).toBe(a);
  await encoder.encode(["aa", "b"]);
  expect(asked).toEqual(["aa", "b", "c", "b"]);
});

describe("MiniLM", () => {
  test("says what is not there, and the choice falls on TF-IDF with one line that says why", async () => {
    const folder = await mkdtemp(path.join(tmpdir(), "trailgym-minilm-"));
    try {
      await expect(MiniLm.open(folder)).rejects.toThrow(MiniLmMissing);
      const { encoder, line } = await chooseEncoder(corpus, folder);
      expect(encoder.id).toMatch(/^hashed-tfidf-384-/);
      expect(line).toMatch(/hashed TF-IDF: (onnxruntime-node is not installed|there is no .*model\.onnx)/);
      await expect(loadEncoder({ kind: "minilm", id: "minilm-1", width: 384 })).rejects.toThrow(OtherEncoder);
      await writeFile(path.join(folder, "package.json"), "{}");
      await expect(MiniLm.open(folder)).rejects.toThrow(MiniLmMissing);
    } finally {
      await rm(folder, { recursive: true });
    }
  });

  // The weights are no part of this repository: TRAILGYM_MINILM names a folder with them and onnxruntime-node.
  const weights = process.env.TRAILGYM_MINILM;
  test.skipIf(weights === undefined)("has PyTorch's vectors, from weights on disk", async () => {
    const encoder = await MiniLm.open(weights!);
    const [plain, odd] = await encoder.encode([
      "What is the weather in Zürich tomorrow?",
      "naïve café: 北京 e-mail@x.org, $5!",
    ]);
    const near = (values: number[]) => values.map((x) => expect.closeTo(x, 4) as number);
    expect(encoder.width).toBe(384);
    expect([...plain!.subarray(0, 6)]).toEqual(near([-0.02123, 0.09062, 0.098267, 0.04452, 0.031544, -0.02551]));
    expect([...odd!.subarray(0, 6)]).toEqual(near([0.038037, -0.003222, 0.066194, -0.019079, 0.02768, -0.011694]));
    expect((await loadEncoder(encoder.save(), weights)).id).toBe(encoder.id);
  });

  test("cuts words into the longest pieces of the vocabulary", () => {
    const vocabulary = new Map(
      ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "un", "##afford", "##able", "cafe", "!", "a", "北"].map((piece, id) => [
        piece,
        id,
      ]),
    );
    const ids = (text: string, maxTokens = 20) => wordPieces(text, { vocabulary, maxTokens });
    expect(ids("Unaffordable café!")).toEqual([2, 4, 5, 6, 7, 8, 3]);
    expect(ids("a unknown a")).toEqual([2, 9, 1, 9, 3]);
    expect(ids("a北a")).toEqual([2, 9, 10, 9, 3]);
    expect(ids("a a a a", 4)).toEqual([2, 9, 9, 3]);
    expect(ids(`${"a".repeat(101)}`)).toEqual([2, 1, 3]);
    expect(() => wordPieces("a", { vocabulary: new Map(), maxTokens: 3 })).toThrow(/\[UNK\]/);
  });
});

describe("clauses", () => {
  const text =
    "I'm planning a trip to Jember. Could you first show me all districts of East Java, then list its schools, and finally find the largest one? Thanks!";

  test("are sentences and their parts, in order, with nothing lost", () => {
    const clauses = clausesOf(text, 8);
    expect(clauses).toEqual([
      "I'm planning a trip to Jember.",
      "Could you first show me all districts of East Java,",
      "then list its schools,",
      "and finally find the largest one? Thanks!",
    ]);
    expect(clauses.join(" ")).toBe(text);
  });

  test("are at most so many, the last with the rest; one wish has none", () => {
    expect(clausesOf(text, 2)).toHaveLength(2);
    expect(clausesOf(text, 2).join(" ")).toBe(text);
    expect(clausesOf("Show the weather in Berlin.", 8)).toEqual([]);
    expect(clausesOf(text, 0)).toEqual([]);
  });
});
