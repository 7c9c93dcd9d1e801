/** "Did you mean": the known names nearest to a wrong one. */

const maxLength = 100;

/** At most three names within a third of the longer length in edits, nearest first. */
export function closest(wrong: string, names: Iterable<string>): string[] {
  // A wrong name of this length is no slip of the pen, and comparing it with thousands takes seconds.
  if (wrong.length > maxLength) return [];
  const near: { name: string; distance: number }[] = [];
  for (const name of names) {
    const limit = Math.min(6, Math.ceil(Math.max(wrong.length, name.length) / 3));
    if (Math.abs(name.length - wrong.length) > limit) continue;
    const distance = edits(wrong, name);
    if (distance <= limit) near.push({ name, distance });
  }
  near.sort((a, b) => a.distance - b.distance || (a.name < b.name ? -1 : 1));
  return near.slice(0, 3).map(({ name }) => name);
}

/** Levenshtein distance. */
function edits(a: string, b: string): number {
  let previous = Array.from({ length: b.length + 1 }, (_, j) => j);
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    for (let j = 1; j <= b.length; j++) {
      const swap = (previous[j - 1] as number) + (a[i - 1] === b[j - 1] ? 0 : 1);
      row.push(Math.min(swap, (previous[j] as number) + 1, (row[j - 1] as number) + 1));
    }
    previous = row;
  }
  return previous[b.length] as number;
}
