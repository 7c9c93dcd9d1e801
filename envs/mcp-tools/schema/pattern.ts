/** Could a pattern take for ever? JavaScript's regular expressions backtrack, and a schema is a stranger's. */

/** Longer ones are nobody's parameter. */
const MAX_LENGTH = 1000;

/**
 * What is wrong with a pattern, as the end of a sentence; undefined when it may be used. Refused is what repeats without
 * bound something that itself repeats without bound, as in `(a+)+`: the time of these grows exponentially.
 */
export function patternProblem(pattern: string): string | undefined {
  if (pattern.length > MAX_LENGTH) return `is longer than ${MAX_LENGTH} characters`;
  try {
    new RegExp(pattern);
  } catch (error) {
    return `is no regular expression: ${(error as Error).message}`;
  }
  return nestsRepeats(pattern) ? "repeats a repetition, which can take for ever" : undefined;
}

const UNBOUNDED = /^(?:[*+]|\{\d+,\})/;

function nestsRepeats(pattern: string): boolean {
  /** For every open group: does something in it repeat without bound? */
  const groups: boolean[] = [false];
  let last = false;
  for (let i = 0; i < pattern.length; i++) {
    const character = pattern.charAt(i);
    if (character === "(") {
      groups.push(false);
      last = false;
      continue;
    }
    if (character === ")" && groups.length > 1) {
      last = groups.pop() as boolean;
      if (last) groups[groups.length - 1] = true;
      continue;
    }
    const repeat = UNBOUNDED.exec(pattern.slice(i))?.[0];
    if (repeat !== undefined) {
      if (last) return true;
      groups[groups.length - 1] = true;
      i += repeat.length - 1;
      continue;
    }
    last = false;
    if (character === "\\") i++;
    else if (character === "[") i = endOfClass(pattern, i);
  }
  return false;
}

/** The index of the `]` that ends the class which begins at `start`. */
function endOfClass(pattern: string, start: number): number {
  for (let i = start + 1; i < pattern.length; i++) {
    if (pattern.charAt(i) === "\\") i++;
    else if (pattern.charAt(i) === "]") return i;
  }
  return pattern.length;
}
