/** Which words is a command line made of? As a shell splits them, without anything that a shell expands. */

import { UsageError } from "../../terminal/failure.ts";

/** Blanks separate, quotes of both kinds group, a backslash takes the next character as it is (not within single quotes). */
export function splitWords(line: string): string[] {
  const words: string[] = [];
  let word: string | undefined;
  let quote: string | undefined;
  for (let i = 0; i < line.length; i++) {
    const char = line[i] as string;
    if (char === "\\" && quote !== "'" && i + 1 < line.length) word = (word ?? "") + (line[++i] as string);
    else if (char === quote) quote = undefined;
    else if (quote === undefined && (char === '"' || char === "'")) {
      quote = char;
      word ??= "";
    } else if (quote === undefined && /\s/.test(char)) {
      if (word !== undefined) words.push(word);
      word = undefined;
    } else word = (word ?? "") + char;
  }
  if (quote !== undefined) throw new UsageError(`the agent's command has a ${quote} that does not end: ${line}`);
  return word === undefined ? words : [...words, word];
}
