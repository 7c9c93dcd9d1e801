/** How does a text become a vector? The encoder is frozen; which one a policy was trained with is in its checkpoint. */

import { type HashedTfIdfState, HashedTfIdf } from "./tfidf.ts";
import { MiniLm } from "./minilm.ts";

export interface TextEncoder {
  /** Names the encoder and what it was made from: equal ids, equal vectors. */
  readonly id: string;
  /** Length of a vector. */
  readonly width: number;
  /** Vectors of length 1, or zeros for a text without a word. The caller must not change them: they are kept. */
  encode(texts: readonly string[]): Promise<Float32Array[]>;
  /** JSON from which {@link loadEncoder} makes it again. */
  save(): EncoderState;
}

export type EncoderState = HashedTfIdfState | { kind: "minilm"; id: string; width: number };

export class OtherEncoder extends Error {
  override readonly name = "OtherEncoder";
}

/**
 * @param state of a checkpoint. @param modelFolder of MiniLM, when that is what the checkpoint asks for.
 * @throws OtherEncoder when the model on disk is another, or none.
 */
export async function loadEncoder(state: EncoderState, modelFolder?: string): Promise<TextEncoder> {
  if (state.kind === "hashed-tfidf") return HashedTfIdf.load(state);
  if (modelFolder === undefined) {
    throw new OtherEncoder("this policy reads texts with MiniLM; name the folder that holds its weights");
  }
  const encoder = await MiniLm.open(modelFolder);
  if (encoder.id !== state.id) throw new OtherEncoder(`${modelFolder} holds ${encoder.id}, not ${state.id}`);
  return encoder;
}

/** MiniLM where its weights are, else TF-IDF fitted on the texts of the training split. @returns it, and one line that says why */
export async function chooseEncoder(
  trainingTexts: readonly string[],
  modelFolder?: string,
): Promise<{ encoder: TextEncoder; line: string }> {
  if (modelFolder !== undefined) {
    try {
      const encoder = await MiniLm.open(modelFolder);
      return { encoder, line: `texts by MiniLM (${modelFolder})` };
    } catch (error) {
      const encoder = HashedTfIdf.fit(trainingTexts);
      return { encoder, line: `texts by hashed TF-IDF: ${(error as Error).message}` };
    }
  }
  return { encoder: HashedTfIdf.fit(trainingTexts), line: "texts by hashed TF-IDF (no MiniLM folder was named)" };
}

/** Remembers the vectors of the last `limit` texts, and gives equal texts the very same array. */
export function remembering(encoder: TextEncoder, limit = 50_000): TextEncoder {
  const known = new Map<string, Float32Array>();
  return {
    id: encoder.id,
    width: encoder.width,
    save: () => encoder.save(),
    async encode(texts) {
      const fresh = [...new Set(texts)].filter((text) => !known.has(text));
      const vectors = fresh.length === 0 ? [] : await encoder.encode(fresh);
      const added = new Map(fresh.map((text, i) => [text, vectors[i] as Float32Array]));
      const found = texts.map((text) => {
        const vector = (known.get(text) ?? added.get(text)) as Float32Array;
        // Put at the end again: the least recently used one is the first.
        known.delete(text);
        known.set(text, vector);
        return vector;
      });
      for (const text of known.keys()) {
        if (known.size <= limit) break;
        known.delete(text);
      }
      return found;
    },
  };
}
