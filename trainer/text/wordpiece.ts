/** How are texts cut for BERT's vocabulary? Lower case, without accents, punctuation apart, then the longest pieces that exist. */

export interface WordPieceOptions {
  /** Piece → id; `##` marks a piece inside a word. */
  vocabulary: ReadonlyMap<string, number>;
  /** Tokens in all, [CLS] and [SEP] included. */
  maxTokens: number;
}

const maxWordLength = 100;

/** @returns ids, [CLS] first and [SEP] last. @throws Error for a vocabulary without the special tokens */
export function wordPieces(text: string, { vocabulary, maxTokens }: WordPieceOptions): number[] {
  const special = (token: string): number => {
    const id = vocabulary.get(token);
    if (id === undefined) throw new Error(`the vocabulary has no ${token}`);
    return id;
  };
  const ids = wordsFor(text).flatMap((word) => piecesOf(word, vocabulary) ?? [special("[UNK]")]);
  return [special("[CLS]"), ...ids.slice(0, maxTokens - 2), special("[SEP]")];
}

function wordsFor(text: string): string[] {
  const plain = text
    .replace(/[\u0000\ufffd]|(?![\t\n\r])\p{C}/gu, "")
    .toLowerCase()
    .normalize("NFD")
    .replace(/\p{Mn}/gu, "");
  // Chinese characters and every mark of punctuation are words of their own; ASCII symbols count as punctuation.
  const apart =
    /[\p{P}!-/:-@[-`{-~]|[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]|[\u{20000}-\u{2ceaf}]|[\u{2f800}-\u{2fa1f}]/gu;
  return plain
    .replace(apart, " $& ")
    .split(/\s+/u)
    .filter((word) => word !== "");
}

/** Undefined: it cannot be put together. */
function piecesOf(word: string, vocabulary: ReadonlyMap<string, number>): number[] | undefined {
  const letters = [...word];
  if (letters.length > maxWordLength) return undefined;
  const ids: number[] = [];
  let start = 0;
  while (start < letters.length) {
    let end = letters.length;
    let id: number | undefined;
    while (end > start) {
      id = vocabulary.get((start > 0 ? "##" : "") + letters.slice(start, end).join(""));
      if (id !== undefined) break;
      end--;
    }
    if (id === undefined) return undefined;
    ids.push(id);
    start = end;
  }
  return ids;
}
