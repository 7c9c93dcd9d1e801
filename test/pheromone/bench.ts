/** How long does a question to a large trail take? `npx node test/pheromone/bench.ts`; the aim of a row is 0.2 ms. */

import { type Deposit, guide, load, PheromoneTable, sample, save } from "trailgym/pheromone";
import { rng } from "trailgym/env";

const [tools, memories, dimension, tasks] = [500, 100, 384, 5000];
const random = rng(1);
const names = Array.from({ length: tools }, (_, i) => `server-${i % 20}/tool_${i}`);

/** Half of them like any given one: a cosine of 0.25 is about the middle, so that no branch can be foretold. */
function embedding(): Float32Array {
  return Float32Array.from({ length: dimension }, (_, i) => (i === 0 ? 0.5 + random.float() : 0.053 * random.normal()));
}
const embeddings = Array.from({ length: tasks }, embedding);

const table = new PheromoneTable({ memory: { decay: 1, similarity: 0.45 }, roundSize: null });
for (let round = 0; round < memories; round++) {
  table.round(
    names.map((tool): Deposit => {
      const quality = 0.3 + 0.7 * random.float();
      return {
        tools: ["a", tool],
        quality,
        deposit: random.float() < 0.02,
        remember: true,
        embedding: random.choice(embeddings),
      };
    }),
  );
}

const recall = table.recall(embedding());
const logits = Float32Array.from(names, () => random.normal());
const row = () => table.row({ from: "a", candidates: names, recall });
const text = save(table);

const held = [...(table.tool.rows.get("a")?.values() ?? [])].map((edge) => edge.memory?.size ?? 0);
const active = recall ? recall.active.reduce((sum, one) => sum + one, 0) / recall.active.length : 0;
report("edges of the row", held.length);
report("memories an edge, least", Math.min(...held));
report("tasks", table.tasks.size);
report("of them active", active);
time("row with memories, ms", row);
time("row without, ms", () => table.row({ from: "a", candidates: names }));
const { bias } = row();
const options = { bias, beta: 0.7, temperature: 0.7, topK: 20, pRand: 0.05 };
time("guide and sample, ms", () => sample(guide(logits, options), random.float()));
time("cosines of an episode, ms", () => table.recall(embeddings[0] as Float32Array), 50);
time("round of 40 trajectories, ms", () => table.round(fortyPaths()), 50);
report("saved, MB", text.length / 1e6);
time("save, ms", () => save(table), 5);
time("load, ms", () => load(text), 5);

function fortyPaths(): Deposit[] {
  return Array.from({ length: 40 }, () => ({
    tools: Array.from({ length: 10 }, () => random.choice(names)),
    ...{ quality: 0.9, deposit: true, remember: true, embedding: random.choice(embeddings) },
  }));
}

/** Median and best of many: a busy machine disturbs the median, not the best. */
function time(what: string, work: () => unknown, repetitions = 1000): void {
  const times = Array.from({ length: repetitions + 20 }, () => {
    const from = performance.now();
    work();
    return performance.now() - from;
  })
    .slice(20)
    .sort((a, b) => a - b);
  report(what, times[Math.floor(repetitions / 2)] as number, `best ${(times[0] as number).toFixed(4)}`);
}

function report(what: string, value: number, more = ""): void {
  process.stdout.write(`${what.padEnd(32)} ${value.toFixed(4).padStart(12)} ${more}\n`);
}
