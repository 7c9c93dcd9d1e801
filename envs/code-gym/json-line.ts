/** Where does a line stop being JSON? V8 names the place of some faults and only quotes the surroundings of others. */

/** @returns the value, or what is wrong with the line and at which column, from 1. */
export function parseJson(line: string): { value: unknown } | { problem: string } {
  try {
    return { value: JSON.parse(line) as unknown };
  } catch (error) {
    const { message } = error as Error;
    const what = message.replace(/ in JSON at position.*$|, (\.\.\.)?".*$/s, "");
    return { problem: `${what} at column ${columnOf(line, message)}` };
  }
}

function columnOf(line: string, message: string): number {
  const position = /at position (\d+)/.exec(message)?.[1];
  if (position !== undefined) return Number(position) + 1;
  if (!isUnexpectedToken(message)) return line.length + 1;
  // The fault is the last character of the shortest beginning of the line that has it; every longer one has it too.
  let [without, having] = [0, line.length];
  while (having - without > 1) {
    const middle = (without + having) >> 1;
    if (hasUnexpectedToken(line.slice(0, middle))) having = middle;
    else without = middle;
  }
  return having;
}

const isUnexpectedToken = (message: string) => message.startsWith("Unexpected token");

function hasUnexpectedToken(text: string): boolean {
  try {
    JSON.parse(text);
    return false;
  } catch (error) {
    return isUnexpectedToken((error as Error).message);
  }
}
