/**
 * The planner without a backend, for rollouts: many episodes in lock-step, one new token a step, keys and values of the
 * earlier ones kept. Equal to `plannerForward` to 1e-5, which a test holds.
 */

import { ArgumentScores, type SlotOption } from "./argument-scores.ts";
import { outcomeFlags, type PlannerConfig } from "../planner.ts";
import { attend, normalise } from "./attend.ts";
import { type InferenceOptions, type PackedLayer, type PackedPlanner, packPlanner } from "./packed.ts";

/** A task as the planner reads it. */
export interface PlannedTask {
  clauses: readonly Float32Array[];
  task: Float32Array;
}

/** What an episode's last call was and what came of it. */
export interface ObservedCall {
  tool: number;
  pattern?: Float32Array | undefined;
  output?: Float32Array | undefined;
  /** One for each of `outcomeFlags`. */
  outcome: readonly number[];
}

export interface Decision {
  /** [N+1], unmasked, at temperature 1; STOP is the last. Valid until the next call. */
  logits: Float32Array;
  value: number;
}

/** One episode's place: what it has seen. */
interface Slot {
  /** Positions filled: clauses, task, calls. */
  length: number;
  calls: number[];
  /** [S, D] the clauses and the task, projected. */
  prefix: Float32Array;
  /** [S, N] cosines with the tools. */
  cosines: Float32Array;
  /** [layers, positions, D] each. */
  keys: Float32Array;
  values: Float32Array;
  /** [D] at the last position, normalised. */
  state: Float32Array;
}

interface Token {
  slot: number;
  position: number;
}

export class PlannerInference {
  readonly #config: PlannerConfig;
  readonly #packed: PackedPlanner;
  readonly #arguments: ArgumentScores;
  readonly #slots: (Slot | undefined)[];
  readonly #positions: number;

  /** @param weights are copied: a later update needs a new instance. */
  constructor(config: PlannerConfig, weights: Float32Array, options: InferenceOptions) {
    this.#config = config;
    this.#positions = config.maxClauses + 1 + config.maxSteps;
    this.#packed = packPlanner(config, weights.slice(), options, Math.max(options.capacity, this.#positions));
    this.#arguments = new ArgumentScores(config.width, this.#packed.part);
    this.#slots = new Array<Slot | undefined>(options.capacity);
  }

  get tools(): number {
    return this.#packed.tools;
  }

  /** Starts episodes of one task, which is read once. @returns their slots. @throws RangeError when all are taken */
  begin(task: PlannedTask, copies = 1): number[] {
    const free = [...this.#slots.keys()].filter((i) => this.#slots[i] === undefined).slice(0, copies);
    if (free.length < copies) throw new RangeError(`only ${free.length} of ${copies} slots are free`);
    const [first, ...others] = free as [number, ...number[]];
    const slot = this.#read(first, task);
    for (const other of others) {
      this.#slots[other] = {
        ...slot,
        calls: [],
        keys: slot.keys.slice(),
        values: slot.values.slice(),
        state: slot.state.slice(),
      };
    }
    return free;
  }

  /** Frees a slot. Again: nothing. */
  end(slot: number): void {
    this.#slots[slot] = undefined;
  }

  /** Each episode's last call and what came of it. @throws RangeError for more calls than `maxSteps`, or one of STOP, before anything changes */
  observe(slots: readonly number[], calls: readonly ObservedCall[]): void {
    const { maxSteps } = this.#config;
    for (const [row, id] of slots.entries()) {
      const { tool } = calls[row] as ObservedCall;
      if (this.#slot(id).calls.length >= maxSteps) throw new RangeError(`an episode has at most ${maxSteps} calls`);
      if (!(tool >= 0 && tool < this.tools)) throw new RangeError(`no call of tool ${tool} can be observed`);
    }
    const { rowCapacity } = this.#packed;
    for (let from = 0; from < slots.length; from += rowCapacity) {
      this.#observe(slots.slice(from, from + rowCapacity), calls.slice(from, from + rowCapacity));
    }
  }

  /** What the policy says at each episode's present state. @param slots at most as many as there are */
  decide(slots: readonly number[]): Decision[] {
    const { width } = this.#config;
    const { kernel, rooms, heads, toolKeys } = this.#packed;
    const { x, normal, wide, logits: all } = rooms;
    for (const [row, id] of slots.entries()) x.set(this.#slot(id).state, row * width);
    kernel.product(x, heads, wide, slots.length);
    const scale = 1 / Math.sqrt(width);
    for (let row = 0; row < slots.length; row++) {
      for (let d = 0; d < width; d++) normal[row * width + d] = wide[row * heads.columns + d]! * scale;
    }
    kernel.product(normal, toolKeys, all, slots.length);
    return slots.map((id, row) => {
      const head = wide.subarray(row * heads.columns, (row + 1) * heads.columns);
      const logits = all.subarray(row * toolKeys.columns, row * toolKeys.columns + this.tools + 1);
      this.#hint(this.#slot(id), head, logits);
      return { logits, value: head[2 * width + 2]! };
    });
  }

  /** Scores of the patterns of a tool at an episode's present state; softmax of them is π_arg. @returns [options] */
  patternScores(slot: number, tool: number, options: readonly Float32Array[]): Float32Array {
    const { width } = this.#config;
    const call = this.#packed.calls.subarray(tool * width, (tool + 1) * width);
    return this.#arguments.patterns(this.#slot(slot).state, call, options);
  }

  /** Scores of the candidate values of a slot. @returns [options] */
  slotScores(slot: number, property: Float32Array, options: readonly SlotOption[]): Float32Array {
    return this.#arguments.slots(this.#slot(slot).state, property, options);
  }

  #slot(id: number): Slot {
    const slot = this.#slots[id];
    if (slot === undefined) throw new RangeError(`slot ${id} has no episode`);
    return slot;
  }

  #read(id: number, { clauses, task }: PlannedTask): Slot {
    const { width, layers, maxClauses } = this.#config;
    const texts = [...clauses.slice(0, maxClauses), task];
    const { project, text, descriptions, part, rooms } = this.#packed;
    const prefix = project(texts, text.task).slice(0, texts.length * width);
    const cosines = project(texts, descriptions).slice(0, texts.length * descriptions.columns);
    const slot: Slot = {
      length: 0,
      calls: [],
      prefix,
      cosines,
      keys: new Float32Array(layers * this.#positions * width),
      values: new Float32Array(layers * this.#positions * width),
      state: new Float32Array(width),
    };
    this.#slots[id] = slot;
    const places = part("places/task");
    const { x } = rooms;
    for (let s = 0; s < texts.length; s++) {
      const place = s === texts.length - 1 ? maxClauses : s;
      for (let d = 0; d < width; d++) x[s * width + d] = prefix[s * width + d]! + places[place * width + d]!;
    }
    this.#pass(texts.map((_, position) => ({ slot: id, position })));
    return slot;
  }

  #observe(slots: readonly number[], calls: readonly ObservedCall[]): void {
    const { width } = this.#config;
    const { rooms, text, project, part, calls: vectors } = this.#packed;
    const { x } = rooms;
    const outcome = part("outcome/weights");
    const places = part("places/call");
    const outputs = project(
      calls.map(({ output }) => output),
      text.output,
    );
    x.set(outputs.subarray(0, slots.length * width));
    // Without a pattern only the bias is left, and no product is needed.
    const none = text.pattern.bias;
    const patterns = calls.some(({ pattern }) => pattern)
      ? project(
          calls.map(({ pattern }) => pattern),
          text.pattern,
        )
      : undefined;
    for (const [row, id] of slots.entries()) {
      const slot = this.#slot(id);
      const call = calls[row] as ObservedCall;
      for (let d = 0; d < width; d++) {
        let sum =
          x[row * width + d]! + (patterns ? patterns[row * width + d]! : none[d]!) + vectors[call.tool * width + d]!;
        sum += places[slot.calls.length * width + d]!;
        for (let f = 0; f < outcomeFlags.length; f++) sum += call.outcome[f]! * outcome[f * width + d]!;
        x[row * width + d] = sum;
      }
      slot.calls.push(call.tool);
    }
    this.#pass(slots.map((slot) => ({ slot, position: this.#slot(slot).length })));
  }

  /** Runs tokens (in the room `x`) through the trunk; of one slot in the order of their positions. Sets the slots' states. */
  #pass(tokens: readonly Token[]): void {
    const { width, layers, heads } = this.#config;
    const { kernel, rooms, layers: packed } = this.#packed;
    const { x, normal, wide, seen } = rooms;
    const rows = tokens.length;
    for (let layer = 0; layer < layers; layer++) {
      const { qkv, out, up, down } = packed[layer] as PackedLayer;
      normalise(x, normal, rows, width);
      kernel.product(normal, qkv, wide, rows);
      const base = layer * this.#positions * width;
      for (const [row, { slot, position }] of tokens.entries()) {
        const { keys, values } = this.#slot(slot);
        const from = row * 3 * width;
        keys.set(wide.subarray(from + width, from + 2 * width), base + position * width);
        values.set(wide.subarray(from + 2 * width, from + 3 * width), base + position * width);
        attend(wide, from, keys, values, base, { position, width, heads, out: seen, at: row * width });
      }
      kernel.product(seen, out, normal, rows);
      for (let i = 0; i < rows * width; i++) x[i]! += normal[i]!;
      normalise(x, normal, rows, width);
      kernel.product(normal, up, wide, rows, true);
      kernel.product(wide, down, normal, rows);
      for (let i = 0; i < rows * width; i++) x[i]! += normal[i]!;
    }
    normalise(x, normal, rows, width);
    for (const [row, { slot, position }] of tokens.entries()) {
      const each = this.#slot(slot);
      each.state.set(normal.subarray(row * width, (row + 1) * width));
      each.length = position + 1;
    }
  }

  /** Adds what the clauses and the calls so far say. @param head query, pointer, gates, value of one decision. */
  #hint({ prefix, cosines, calls }: Slot, head: Float32Array, logits: Float32Array): void {
    const { width } = this.#config;
    const count = prefix.length / width;
    const columns = this.#packed.descriptions.columns;
    const shares = new Float64Array(count);
    let most = -Infinity;
    for (let s = 0; s < count; s++) {
      let dot = 0;
      for (let d = 0; d < width; d++) dot += head[width + d]! * prefix[s * width + d]!;
      shares[s] = dot / Math.sqrt(width);
      most = Math.max(most, shares[s]!);
    }
    let total = 0;
    for (let s = 0; s < count; s++) {
      shares[s] = Math.exp(shares[s]! - most);
      total += shares[s]!;
    }
    const [trust, repeat] = [head[2 * width]!, head[2 * width + 1]!];
    for (let s = 0; s < count; s++) {
      const share = (trust * shares[s]!) / total;
      for (let j = 0, at = s * columns; j < this.tools; j++, at++) logits[j]! += share * cosines[at]!;
    }
    for (const tool of calls) logits[tool]! += repeat;
  }
}
