/** How deep a JSON text nests, without building it: a bomb of brackets must not be parsed first. */

const [quote, backslash, openBrace, closeBrace, openBracket, closeBracket] = [34, 92, 123, 125, 91, 93];

/** Whether brackets and braces nest deeper than `limit`. Only meant for texts that turn out to be JSON. */
export function deeperThan(limit: number, text: string): boolean {
  // Each level takes two characters.
  if (text.length <= 2 * limit) return false;
  let depth = 0;
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i);
    if (code === openBrace || code === openBracket) {
      if (++depth > limit) return true;
    } else if (code === closeBrace || code === closeBracket) {
      depth--;
    } else if (code === quote) {
      i = endOfString(text, i);
    }
  }
  return false;
}

/** The index of the quote that ends the string which begins at `start`; the text's end when nothing does. */
function endOfString(text: string, start: number): number {
  let end = text.indexOf('"', start + 1);
  while (end > 0 && isEscaped(text, end)) end = text.indexOf('"', end + 1);
  return end < 0 ? text.length : end;
}

function isEscaped(text: string, at: number): boolean {
  let backslashes = 0;
  while (text.charCodeAt(at - 1 - backslashes) === backslash) backslashes++;
  return backslashes % 2 === 1;
}
