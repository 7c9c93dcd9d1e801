/**
 * Sentences by all-MiniLM-L6-v2, when its weights are on this disk: a folder with `model.onnx` (or `onnx/model.onnx`) and
 * `tokenizer.json`. It runs on onnxruntime-node, which is no dependency of TrailGym: `npm install onnxruntime-node` in that
 * folder, or beside TrailGym, brings it.
 */

import { createHash } from "node:crypto";
import { access, readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import path from "node:path";
import type { TextEncoder } from "./encoder.ts";
import { wordPieces } from "./wordpiece.ts";

/** What of onnxruntime-node is used. */
interface Runtime {
  InferenceSession: { create(file: string): Promise<Session> };
  Tensor: new (type: "int64", data: BigInt64Array, dims: readonly number[]) => unknown;
}

interface Session {
  readonly inputNames: readonly string[];
  readonly outputNames: readonly string[];
  run(feeds: Record<string, unknown>): Promise<Record<string, { data: Float32Array; dims: readonly number[] }>>;
}

export class MiniLmMissing extends Error {
  override readonly name = "MiniLmMissing";
}

const maxTokens = 256;
const batchSize = 32;

export class MiniLm implements TextEncoder {
  readonly id: string;
  readonly width: number;
  readonly #session: Session;
  readonly #runtime: Runtime;
  readonly #vocabulary: ReadonlyMap<string, number>;

  private constructor(id: string, width: number, session: Session, runtime: Runtime, vocabulary: Map<string, number>) {
    this.id = id;
    this.width = width;
    this.#session = session;
    this.#runtime = runtime;
    this.#vocabulary = vocabulary;
  }

  /** @throws MiniLmMissing that says what is not there. */
  static async open(folder: string): Promise<MiniLm> {
    const runtime = runtimeFor(folder);
    const model = await firstOf([path.join(folder, "model.onnx"), path.join(folder, "onnx", "model.onnx")]);
    const tokenizer = await firstOf([path.join(folder, "tokenizer.json")]);
    const { model: pieces } = JSON.parse(await readFile(tokenizer, "utf8")) as {
      model: { type?: string; vocab: Record<string, number> };
    };
    if (pieces.type !== undefined && pieces.type !== "WordPiece") {
      throw new MiniLmMissing(`${tokenizer} is of the kind ${pieces.type}, not WordPiece`);
    }
    const session = await runtime.InferenceSession.create(model);
    const vocabulary = new Map(Object.entries(pieces.vocab));
    const digest = createHash("sha256")
      .update(await readFile(model))
      .digest("hex")
      .slice(0, 16);
    const probe = new MiniLm(`minilm-${digest}`, 0, session, runtime, vocabulary);
    const [vector] = await probe.encode(["width"]);
    return new MiniLm(probe.id, (vector as Float32Array).length, session, runtime, vocabulary);
  }

  save(): { kind: "minilm"; id: string; width: number } {
    return { kind: "minilm", id: this.id, width: this.width };
  }

  async encode(texts: readonly string[]): Promise<Float32Array[]> {
    const vectors: Float32Array[] = [];
    for (let from = 0; from < texts.length; from += batchSize) {
      vectors.push(...(await this.#batch(texts.slice(from, from + batchSize))));
    }
    return vectors;
  }

  /** The mean of the last layer over the tokens that are there, of length 1. */
  async #batch(texts: readonly string[]): Promise<Float32Array[]> {
    const rows = texts.map((text) => wordPieces(text, { vocabulary: this.#vocabulary, maxTokens }));
    const length = Math.max(...rows.map((row) => row.length));
    const dims = [rows.length, length];
    const filled = (value: (row: readonly number[], t: number) => number) => {
      const data = BigInt64Array.from(rows.flatMap((row) => Array.from({ length }, (_, t) => BigInt(value(row, t)))));
      return new this.#runtime.Tensor("int64", data, dims);
    };
    const inputs: Record<string, unknown> = {
      input_ids: filled((row, t) => row[t] ?? 0),
      attention_mask: filled((row, t) => (t < row.length ? 1 : 0)),
      token_type_ids: filled(() => 0),
    };
    const feeds = Object.fromEntries(this.#session.inputNames.map((name) => [name, inputs[name]]));
    const output = await this.#session.run(feeds);
    const hidden = output.last_hidden_state ?? output[this.#session.outputNames[0] as string];
    const width = hidden?.dims[2];
    if (hidden === undefined || width === undefined) throw new MiniLmMissing("the model gives no hidden states");
    return rows.map((row, r) => {
      const vector = new Float32Array(width);
      for (let t = 0; t < row.length; t++) {
        const at = (r * length + t) * width;
        for (let d = 0; d < width; d++) vector[d]! += hidden.data[at + d]!;
      }
      const norm = Math.hypot(...vector);
      return vector.map((value) => value / (norm || 1));
    });
  }
}

/** @throws MiniLmMissing */
function runtimeFor(folder: string): Runtime {
  for (const place of [path.join(path.resolve(folder), "package.json"), import.meta.url]) {
    try {
      return createRequire(place)("onnxruntime-node") as Runtime;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "MODULE_NOT_FOUND") throw error;
    }
  }
  throw new MiniLmMissing(
    `onnxruntime-node is not installed; \`npm install --prefix ${folder} onnxruntime-node\` does`,
  );
}

/** @throws MiniLmMissing */
async function firstOf(files: readonly string[]): Promise<string> {
  for (const file of files) {
    try {
      await access(file);
      return file;
    } catch {
      // The next may be there.
    }
  }
  throw new MiniLmMissing(`there is no ${files.join(" and no ")}`);
}
