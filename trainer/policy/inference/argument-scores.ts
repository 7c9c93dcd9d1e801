/** How good are a tool's patterns and a slot's values, at a state? The argument head without a backend. */

import { slotFeatures } from "../arguments.ts";
import { addProduct, scoreOf } from "./attend.ts";

export interface SlotOption {
  text: Float32Array;
  /** In the order of `slotFeatureNames`. */
  features: readonly number[];
}

export class ArgumentScores {
  readonly #width: number;
  readonly #part: (name: string) => Float32Array;
  readonly #projections = new Map<string, WeakMap<Float32Array, Float32Array>>();

  /** @param part of the weights, by name. */
  constructor(width: number, part: (name: string) => Float32Array) {
    this.#width = width;
    this.#part = part;
  }

  /** @param state [D]. @param call [D] of the tool. @returns [options] */
  patterns(state: Float32Array, call: Float32Array, options: readonly Float32Array[]): Float32Array {
    const subject = this.#subject(state, "pattern-head");
    addProduct(call, this.#part("pattern-head/tool"), subject);
    const score = this.#part("pattern-head/score");
    return Float32Array.from(options, (text) => scoreOf(subject, this.#projected("pattern-head/option", text), score));
  }

  /** @param state [D]. @returns [options] */
  slots(state: Float32Array, property: Float32Array, options: readonly SlotOption[]): Float32Array {
    const width = this.#width;
    const subject = this.#subject(state, "slot-head");
    const asked = this.#projected("slot-head/property", property);
    for (let d = 0; d < width; d++) subject[d]! += asked[d]!;
    const byFeature = this.#part("slot-head/features");
    const score = this.#part("slot-head/score");
    return Float32Array.from(options, ({ text, features }) => {
      const option = this.#projected("slot-head/option", text).slice();
      for (let f = 0; f < slotFeatures; f++) {
        for (let d = 0; d < width; d++) option[d]! += features[f]! * byFeature[f * width + d]!;
      }
      return scoreOf(subject, option, score);
    });
  }

  #subject(state: Float32Array, head: string): Float32Array {
    const subject = this.#part(`${head}/state/bias`).slice();
    addProduct(state, this.#part(`${head}/state/weights`), subject);
    return subject;
  }

  /** A text through a matrix without bias, remembered for as long as the text lives. */
  #projected(name: string, text: Float32Array): Float32Array {
    let known = this.#projections.get(name);
    if (known === undefined) this.#projections.set(name, (known = new WeakMap()));
    let found = known.get(text);
    if (found === undefined) {
      found = new Float32Array(this.#width);
      addProduct(text, this.#part(name), found);
      known.set(text, found);
    }
    return found;
  }
}
