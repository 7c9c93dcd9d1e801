/** Where do a policy's weights lie? In one flat float32 vector, each parameter a part of it; tensors are made of it per update. */

import * as tf from "@tensorflow/tfjs-core";
import type { Rng } from "trailgym/env";

export interface ParameterSpec {
  name: string;
  shape: readonly number[];
  /** Standard deviation of the normal it starts from, one for all or one for each column, or its values. */
  start: { std: number | readonly number[] } | { value: number | readonly number[] };
}

export interface Parameter extends ParameterSpec {
  offset: number;
  size: number;
}

export type Tensors = Readonly<Record<string, tf.Tensor>>;

export class Layout {
  readonly parameters: readonly Parameter[];
  /** Numbers in all. */
  readonly size: number;

  /** @throws Error when two parameters have one name. */
  constructor(specs: readonly ParameterSpec[]) {
    let offset = 0;
    const names = new Set<string>();
    this.parameters = specs.map((spec) => {
      if (names.has(spec.name)) throw new Error(`two parameters are called ${spec.name}`);
      names.add(spec.name);
      const size = spec.shape.reduce((a, b) => a * b, 1);
      const parameter = { ...spec, offset, size };
      offset += size;
      return parameter;
    });
    this.size = offset;
  }

  /** Drawn in the order of the parameters: the same seed gives the same weights on every backend. */
  initial(random: Rng): Float32Array {
    const weights = new Float32Array(this.size);
    for (const { start, offset, size } of this.parameters) {
      const part = weights.subarray(offset, offset + size);
      if ("std" in start) {
        const { std } = start;
        const of = typeof std === "number" ? () => std : (i: number) => std[i % std.length] as number;
        for (let i = 0; i < size; i++) part[i] = of(i) * random.normal();
      } else if (typeof start.value === "number") part.fill(start.value);
      else part.set(start.value);
    }
    return weights;
  }

  /** The part of the vector that is a parameter: a view, not a copy. @throws Error for an unknown name */
  part(weights: Float32Array, name: string): Float32Array {
    const parameter = this.parameters.find((each) => each.name === name);
    if (parameter === undefined) throw new Error(`there is no parameter ${name}`);
    return weights.subarray(parameter.offset, parameter.offset + parameter.size);
  }

  /**
   * One tensor for each parameter, in their order. They may share the weights' memory, so they must be disposed before the
   * weights change; the caller does that.
   */
  tensors(weights: Float32Array): tf.Tensor[] {
    return this.parameters.map(({ shape, offset, size }) =>
      tf.tensor(weights.subarray(offset, offset + size), [...shape], "float32"),
    );
  }

  byName(tensors: readonly tf.Tensor[]): Tensors {
    return Object.fromEntries(this.parameters.map(({ name }, i) => [name, tensors[i] as tf.Tensor]));
  }

  /** Names, shapes and order, as text: equal layouts can exchange weights. */
  get signature(): string {
    return this.parameters.map(({ name, shape }) => `${name}[${shape.join(",")}]`).join(" ");
  }
}

/** A matrix [inputs, outputs] and its bias, for inputs of unit variance. @param scale of its outputs. */
export function linearSpecs(name: string, inputs: number, outputs: number, scale = 1): ParameterSpec[] {
  return [
    { name: `${name}/weights`, shape: [inputs, outputs], start: { std: scale / Math.sqrt(inputs) } },
    { name: `${name}/bias`, shape: [outputs], start: { value: 0 } },
  ];
}
