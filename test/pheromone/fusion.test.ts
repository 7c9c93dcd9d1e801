import {
  confidenceOf,
  dependentShare,
  dependentTau,
  type Evidence,
  fuseTau,
  gather,
  noEvidence,
  PheromoneTable,
  Recall,
} from "trailgym/pheromone";
import { describe, expect, test } from "vitest";
import golden from "../../fixtures/numbers/pheromone.json" with { type: "json" };
import { Memory } from "../../pheromone/memory.ts";
import { TaskMatrix, unitOf } from "../../pheromone/tasks.ts";

const { memory: numbers } = golden;
const trail = { initial: 1, min: 0.5, max: 20, alpha: 0.5, rho: 0.01 };
const near = (found: number, expected: number) => expect(Math.abs(found - expected)).toBeLessThan(1e-12);

/** Values of (2) to (4) for the example. */
function evidenceOf(): { evidence: Evidence; recall: Recall } {
  const [matrix, memory] = [new TaskMatrix(), new Memory()];
  for (const { task, quality } of numbers.memories) {
    memory.write(matrix.take(unitOf(task) as Float64Array), quality, 100, matrix);
  }
  const recall = new Recall(unitOf(numbers.task) as Float64Array);
  recall.refresh(matrix, numbers.similarity);
  return { evidence: gather(memory, recall, noEvidence()), recall };
}

describe("the memory of like tasks", () => {
  test("has PyTorch's cosines, and those below the threshold do not count", () => {
    const { evidence, recall } = evidenceOf();
    for (const [i, cosine] of numbers.cosines.entries()) near(recall.similarity[i]!, cosine);
    expect(evidence.count).toBe(numbers.active);
    near(evidence.weighted / evidence.similarity, numbers.meanBySimilarity);
  });

  test("has PyTorch's confidence and trail, as the paper scales it and as its code does", () => {
    const { evidence } = evidenceOf();
    near(confidenceOf(evidence, numbers.enough, "paper"), numbers.confidence);
    near(confidenceOf(evidence, numbers.enough, "code"), numbers.confidence);
    near(dependentTau(evidence, trail, "paper"), numbers.paper.dependent);
    near(dependentTau(evidence, trail, "code"), numbers.code.dependent);
    near(dependentShare(numbers.confidence, numbers.w, "code"), numbers.code.share);
    const share = dependentShare(numbers.confidence, numbers.w, "paper");
    near(fuseTau(numbers.agnostic, numbers.paper.dependent, share, trail), numbers.paper.fused);
    near(fuseTau(numbers.agnostic, numbers.code.dependent, numbers.code.share, trail), numbers.code.fused);
  });

  test.each(["paper", "code"] as const)("gives a table the same numbers, in the %s's form", (form) => {
    const table = new PheromoneTable({
      tool: { rho: 0 },
      memory: { decay: 1 },
      fusion: { scale: form, confidence: form, mixture: form },
      w: numbers.w,
    });
    table.tool.put("a", "b", { tau: numbers.agnostic, round: 0 });
    table.round(
      numbers.memories.map(({ task, quality }) => ({
        ...{ tools: ["a", "b"], quality, deposit: false, remember: true, embedding: task },
      })),
    );
    const recall = table.recall(numbers.task);
    const row = table.row({ from: "a", candidates: ["b", "c"], recall });
    near(row.tau[0]!, numbers[form].fused);
    near(row.bias[0]!, Math.log(numbers[form].fused));
    near(row.confidence[0]!, numbers.confidence);
    expect([row.tau[1], row.confidence[1]]).toEqual([1, 0]);
    expect(table.row({ from: "a", candidates: ["b"] }).tau[0]).toBe(numbers.agnostic);
  });
});

describe("the code's confidence", () => {
  // s_max, q̄ and n_act, and the factor on (4) with n_min 2.
  test.each([
    [0.9, 0.8, 2, 1],
    [0.34, 0.8, 2, 0.5],
    [0.9, 0.39, 2, 0.5],
    [0.9, 0.8, 1, 0.7],
    [0.34, 0.39, 1, 0.5 * 0.5 * 0.7],
  ])("for s_max %d, mean q %d and %d memories is (4) times %d", (nearest, q, count, factor) => {
    const evidence = { count, similarity: 1, weighted: 1, quality: q * count, nearest };
    const plain = confidenceOf(evidence, 2, "paper");
    near(plain, Math.min(1, count / 2) * nearest * q);
    near(confidenceOf(evidence, 2, "code"), plain * factor);
  });

  test("below 0.25 is not acted upon, and from 2/3 on counts in full", () => {
    expect([0.2499, 0.25, 0.5, 0.7].map((c) => dependentShare(c, 0.4, "code"))).toEqual([
      0,
      expect.closeTo(0.15, 12),
      expect.closeTo(0.3, 12),
      0.4,
    ]);
  });
});

test("nothing remembered is no confidence, not 0/0", () => {
  expect(confidenceOf(noEvidence(), 2, "paper")).toBe(0);
  expect(confidenceOf(noEvidence(), 2, "code")).toBe(0);
});

test("at a threshold of 0 a task at right angles is active, and weighs nothing", () => {
  const table = new PheromoneTable({ memory: { similarity: 0 }, w: 1 });
  table.round([{ tools: ["a"], quality: 1, deposit: false, remember: true, embedding: [1, 0] }]);
  const row = table.row({ candidates: ["a"], recall: table.recall([0, 1]) });
  expect([...row.tau]).toEqual([table.tool.untouched()]);
});
