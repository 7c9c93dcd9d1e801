/** Which JSON documents are in a file: its lines, the elements of one long list, or one thing? Large files in bounded memory. */

/** A file that someone else opened. It is read more than once. */
export interface ImportFile {
  /** For messages, and for formats that learn something from a path. */
  readonly name: string;
  chunks(): AsyncIterable<Uint8Array>;
}

/** `line` is where it begins, from 1. */
export type Located = { line: number } & ({ value: unknown } | { problem: string });

/** How far the end of the first line is looked for. */
const HEAD_CHARS = 2 ** 22;
/** Of one document; more is nobody's trajectory. */
const MAX_CHARS = 256 * 2 ** 20;

export function textFile(name: string, text: string): ImportFile {
  const bytes = new TextEncoder().encode(text);
  return { name, chunks: () => bytesOf(bytes) };
}

async function* bytesOf(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  // In pieces that tear characters, lines and texts apart, as a disk's may.
  for (let at = 0; at < bytes.length; at += 61) yield Promise.resolve(bytes.subarray(at, at + 61));
}

/**
 * @param whole do not take a list apart: it is one document.
 * A file whose first line is JSON by itself is read line by line, whatever it is called: a bad line is then one problem.
 */
export async function* documentsOf(file: ImportFile, { whole = false } = {}): AsyncGenerator<Located> {
  const pieces = piecesOf(file);
  let head = "";
  let hasText = false;
  // Not a loop over the pieces: to leave one would end them.
  for (let next = await pieces.next(); next.done !== true; next = await pieces.next()) {
    const begin: number = hasText ? 0 : next.value.search(/\S/);
    hasText ||= begin >= 0;
    head += next.value;
    if (head.length > HEAD_CHARS || (hasText && next.value.includes("\n", begin))) break;
  }
  const rest = resumed(head, pieces);
  if (isLines(file.name, head)) yield* linesOf(rest);
  else if (!whole && head.trimStart().startsWith("[")) yield* elementsOf(rest);
  else yield* wholeOf(rest);
}

/** As text, with bytes that are no UTF-8 replaced. */
async function* piecesOf(file: ImportFile): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  for await (const chunk of file.chunks()) yield decoder.decode(chunk, { stream: true });
  yield decoder.decode();
}

async function* resumed(head: string, pieces: AsyncIterable<string>): AsyncGenerator<string> {
  yield head;
  yield* pieces;
}

function isLines(name: string, head: string): boolean {
  if (/\.(jsonl|ndjson)$/i.test(name)) return true;
  const [first = "", ...more] = head.trimStart().split("\n");
  return more.length > 0 && /^[{[]/.test(first) && "value" in parsed(first);
}

async function* linesOf(pieces: AsyncIterable<string>): AsyncGenerator<Located> {
  let line = 0;
  let text = "";
  const read = function* (one: string): Generator<Located> {
    line++;
    if (one.trim() !== "") yield { line, ...parsed(one) };
  };
  for await (const piece of pieces) {
    const [first = "", ...more] = piece.split("\n");
    text += first;
    for (const next of more) {
      yield* read(text);
      text = next;
    }
    if (text.length > MAX_CHARS) {
      yield { line: line + 1, problem: `longer than ${MAX_CHARS} characters` };
      return;
    }
  }
  yield* read(text);
}

/** Finds where the elements of a list end, by brackets and quotes; each is then parsed by itself. */
async function* elementsOf(pieces: AsyncIterable<string>): AsyncGenerator<Located> {
  let [line, begin, depth] = [1, 1, 0];
  let [inText, isEscaped] = [false, false];
  let text = "";
  for await (const piece of pieces) {
    let from = 0;
    for (let i = 0; i < piece.length; i++) {
      const character = piece.charCodeAt(i);
      if (character === 10) line++;
      if (inText) {
        if (isEscaped) isEscaped = false;
        else if (character === 92) isEscaped = true;
        else if (character === 34) inText = false;
        continue;
      }
      if (character === 34) inText = true;
      else if (character === 91 || character === 123) {
        if (++depth === 1) from = i + 1;
        if (depth === 2) begin = line;
      } else if (character === 93 || character === 125 || (character === 44 && depth === 1)) {
        const ends = depth === 1;
        if (character !== 44) depth--;
        if (!ends) continue;
        text += piece.slice(from, i);
        if (text.trim() !== "") yield { line: begin, ...parsed(text) };
        [text, from] = ["", i + 1];
        if (depth === 0) return;
      }
    }
    text += depth > 0 ? piece.slice(from) : "";
    if (text.length > MAX_CHARS) break;
  }
  yield {
    line: begin,
    problem: text.length > MAX_CHARS ? `longer than ${MAX_CHARS} characters` : "the list does not end",
  };
}

async function* wholeOf(pieces: AsyncIterable<string>): AsyncGenerator<Located> {
  let text = "";
  for await (const piece of pieces) {
    text += piece;
    if (text.length > MAX_CHARS) {
      yield { line: 1, problem: `longer than ${MAX_CHARS} characters` };
      return;
    }
  }
  if (text.trim() !== "") yield { line: 1, ...parsed(text) };
}

function parsed(text: string): { value: unknown } | { problem: string } {
  try {
    return { value: JSON.parse(text) as unknown };
  } catch (error) {
    return { problem: `not JSON: ${(error as Error).message}` };
  }
}
