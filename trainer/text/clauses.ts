/** Where does one wish of a task end and the next begin? Sentences, and the parts of a long one that "then" and the like divide. */

/** A clause shorter than this says too little to be one. */
const shortest = 12;

/**
 * In order of the text; joined with spaces they are the text but for white space.
 * @param limit the longest task is cut into at most this many; the last clause then holds the rest.
 */
export function clausesOf(text: string, limit: number): string[] {
  if (limit < 1) return [];
  const parts = text
    .split(
      /(?<=[.!?;])\s+|\n+|(?<=,)\s+(?=(?:and\s+)?(?:then|finally|next|after(?:wards| that)|also|lastly|and)\b)|\s+(?=(?:and then|then)\b)/iu,
    )
    .map((part) => part.trim())
    .filter((part) => part !== "");
  const clauses: string[] = [];
  for (const part of parts) {
    const last = clauses.at(-1);
    const joins = last !== undefined && (last.length < shortest || part.length < shortest || clauses.length === limit);
    if (joins) clauses[clauses.length - 1] = `${last} ${part}`;
    else clauses.push(part);
  }
  // One clause is the task, which the planner reads anyway.
  return clauses.length === 1 ? [] : clauses;
}
