/** What may an agent read of a tool's docstring? The description, the arguments and the return value, but no example. */

export interface Docstring {
  /** What the tool does, and "Returns: …". */
  description: string;
  /** By argument: the type that the docstring names, and the words about it. */
  args: ReadonlyMap<string, { type: string | undefined; description: string }>;
}

const heading = /^\s*(Args|Arguments|Parameters|Params|Returns?|Raises|Yields|Notes?)\s*:\s*(.*)$/i;
/** The released format writes "Example Output:"; generated programs also write "Example:" and "Examples:". */
const example = /Example Output|^\s*Examples?\b[^:]*:/i;
const argument = /^\s*\*{0,2}(\w+)\s*(?:\((.*?)\))?\s*:\s*(.*)$/;

/** What nobody reads to its end need not be searched to its end. */
const maxLength = 8000;

export function readDocstring(text: string): Docstring {
  const lines = text.slice(0, maxLength).split("\n");
  const end = lines.findIndex((line) => example.test(line));
  const sections = sectionsOf(end < 0 ? lines : lines.slice(0, end));
  const returns = joined(sections.get("return") ?? []);
  const description = joined(sections.get("") ?? []);
  return {
    description: [description, ...(returns ? [`Returns: ${returns}`] : [])].filter(Boolean).join("\n"),
    args: argumentsOf(sections.get("args") ?? []),
  };
}

function sectionsOf(lines: readonly string[]): Map<string, string[]> {
  const sections = new Map<string, string[]>([["", []]]);
  let current = sections.get("") as string[];
  for (const line of lines) {
    const [, title, rest = ""] = heading.exec(line) ?? [];
    if (title === undefined) current.push(line);
    else sections.set(sectionName(title), (current = rest ? [rest] : []));
  }
  return sections;
}

function sectionName(title: string): string {
  const name = title.toLowerCase();
  return name.startsWith("return") ? "return" : /^(arg|param)/.test(name) ? "args" : name;
}

function argumentsOf(lines: readonly string[]): Docstring["args"] {
  const args = new Map<string, { type: string | undefined; description: string }>();
  const indent = Math.min(...lines.filter((line) => line.trim()).map(indentOf));
  let last: { type: string | undefined; description: string } | undefined;
  for (const line of lines) {
    const [, name, type, description = ""] = (indentOf(line) <= indent && argument.exec(line)) || [];
    if (name !== undefined) args.set(name, (last = { type, description }));
    else if (last && line.trim()) last.description = `${last.description} ${line.trim()}`.trim();
  }
  return args;
}

const indentOf = (line: string) => line.length - line.trimStart().length;
const joined = (lines: readonly string[]) =>
  lines
    .map((line) => line.trim())
    .join("\n")
    .trim()
    .replace(/\n{2,}/g, "\n");
