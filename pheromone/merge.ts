/** Two replicas have each learnt for themselves: what would one table know that had seen both? */

import { canonicalJson, encode } from "trailgym/protocol";
import { PheromoneError } from "./errors.ts";
import { Memory } from "./memory.ts";
import { levelNames, type LevelName, PheromoneTable } from "./table.ts";

/**
 * A new table of what two hold that began empty. A trail is a sum of what its deposits have left, D, and what is left of τ0, so
 * τ = clip(τ0(1−ρ)^n + D_a + D_b): equal to one table that had both deposits in the same rounds, as long as neither met a limit
 * on its way. Of memories the better quality stays for each task, and the best of all within the capacity. An open round is
 * open again, with the offers of both.
 * @throws PheromoneError OTHER_OPTIONS. @throws RangeError for embeddings of two lengths
 */
export function merge(a: PheromoneTable, b: PheromoneTable): PheromoneTable {
  if (canonicalJson(encode(a.options)) !== canonicalJson(encode(b.options))) {
    throw new PheromoneError(
      "OTHER_OPTIONS",
      "tables with different options cannot be merged: give both replicas the same ones, and begin anew where they differ",
    );
  }
  const dimension = a.tasks.dimension || b.tasks.dimension;
  if (b.tasks.dimension !== 0 && b.tasks.dimension !== dimension) {
    throw new RangeError(
      `embeddings of ${dimension} and of ${b.tasks.dimension} numbers: a table belongs to one text encoder`,
    );
  }
  const merged = new PheromoneTable(a.options);
  merged.tasks.dimension = dimension;
  for (const level of levelNames) merged[level].rounds = Math.max(a.rounds, b.rounds);
  for (const table of [a, b]) {
    for (const level of levelNames) add(merged, table, level);
    for (const tool of table.tools) merged.tools.add(tool);
    merged.counts.offered += table.counts.offered;
    merged.counts.deposited += table.counts.deposited;
    merged.counts.remembered += table.counts.remembered;
    merged.offers += table.offers;
    merged.pending.push(...table.pending);
  }
  merged.epoch = Math.max(a.epoch, b.epoch);
  merged.version = Math.max(a.version, b.version) + 1;
  return merged;
}

function add(merged: PheromoneTable, table: PheromoneTable, level: LevelName): void {
  const [target, source] = [merged[level], table[level]];
  const { max } = target.options;
  for (const [from, to, { memory, ...edge }] of source.edges()) {
    // Not below nothing, which rounding could make of an edge that has only been remembered.
    const deposited = Math.max(0, source.current(edge) - source.untouched());
    const tau = Math.min(max, target.at(from, to) + deposited);
    target.put(from, to, { ...target.rows.get(from)?.get(to), tau, round: target.rounds });
    if (memory) remember(merged, table, memory, target.rows.get(from)?.get(to) as { memory?: Memory });
  }
}

function remember(merged: PheromoneTable, table: PheromoneTable, memory: Memory, edge: { memory?: Memory }): void {
  edge.memory ??= new Memory();
  for (let i = 0; i < memory.size; i++) {
    const task = merged.tasks.take(table.tasks.row(memory.tasks[i] as number).slice());
    edge.memory.write(task, memory.qualities[i] as number, merged.options.memory.capacity, merged.tasks);
    merged.tasks.release(task);
  }
}
