/** Choices beside the tool, of any number of options, as matrices: patterns and slot values of a batch. */

import type { PlannedArguments } from "./planned.ts";
import type { Table } from "./texts.ts";

/** One choice among a few, belonging to decision `row` = b·T + t: a pattern, or a slot's value. Rows are padded to `width`. */
export interface ChoiceRows {
  count: number;
  width: number;
  /** [R] which decision. */
  rows: Int32Array;
  /** [R] the option that was taken, 0 … width-1. */
  taken: Int32Array;
  /** [R, width] index of the option's text. */
  options: Int32Array;
  /** [R, width] 0, or −1e9 for padding. */
  bias: Float32Array;
}

export interface Choices {
  /** Of decisions whose tool has more than one pattern. */
  patterns?: ChoiceRows & { /** [R] the tool. */ tools: Int32Array };
  /** [R, width]: β log τ̄ of the patterns, −1e9 outside of what could be sampled. For the ratio `fused`. */
  patternBias?: Float32Array;
  slots?: ChoiceRows & {
    /** [R] index of the property's text. */
    properties: Int32Array;
    /** [R, width, slotFeatures]. */
    features: Float32Array;
  };
}

/** Gathers choices of any width, then pads them. */
export function collector(texts: Table, slotFeatures: number) {
  const patterns: {
    row: number;
    tool: number;
    taken: number;
    options: number[];
    bias: readonly number[] | undefined;
  }[] = [];
  const slots: { row: number; property: number; taken: number; options: number[]; features: readonly number[][] }[] =
    [];
  return {
    get empty() {
      return patterns.length + slots.length === 0;
    },
    add(row: number, tool: number, { pattern, slots: filled }: PlannedArguments) {
      if (pattern && pattern.options.length > 1) {
        const ids = pattern.options.map((text) => texts.add(text));
        patterns.push({ row, tool, taken: pattern.taken, options: ids, bias: pattern.bias });
      }
      for (const { property, taken, options } of filled) {
        if (options.length < 2) continue;
        slots.push({
          row,
          property: texts.add(property),
          taken,
          options: options.map(({ text }) => texts.add(text)),
          features: options.map(({ features }) => [...features]),
        });
      }
    },
    choices(): Choices {
      const choices: Choices = {};
      if (patterns.length > 0) {
        choices.patterns = { ...padded(patterns), tools: Int32Array.from(patterns, ({ tool }) => tool) };
        if (patterns.some(({ bias }) => bias !== undefined)) {
          const { width, bias } = choices.patterns;
          choices.patternBias = bias.map((fill, i) => {
            const trail = patterns[Math.floor(i / width)]?.bias?.[i % width];
            return fill === 0 ? (trail ?? 0) : fill;
          });
        }
      }
      if (slots.length > 0) {
        const rows = padded(slots);
        const features = new Float32Array(rows.count * rows.width * slotFeatures);
        for (const [r, slot] of slots.entries()) {
          for (const [c, values] of slot.features.entries()) features.set(values, (r * rows.width + c) * slotFeatures);
        }
        choices.slots = { ...rows, properties: Int32Array.from(slots, ({ property }) => property), features };
      }
      return choices;
    },
  };
}

function padded(rows: readonly { row: number; taken: number; options: readonly number[] }[]): ChoiceRows {
  const width = Math.max(...rows.map(({ options }) => options.length));
  const options = new Int32Array(rows.length * width);
  const bias = new Float32Array(rows.length * width).fill(-1e9);
  for (const [r, each] of rows.entries()) {
    options.set(each.options, r * width);
    bias.fill(0, r * width, r * width + each.options.length);
  }
  return {
    count: rows.length,
    width,
    rows: Int32Array.from(rows, ({ row }) => row),
    taken: Int32Array.from(rows, ({ taken }) => taken),
    options,
    bias,
  };
}
