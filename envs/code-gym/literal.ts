/** What payload does a text of the released data hold: JSON, or a Python literal, without losing what JSON here would lose? */

/** `literal`: text for Python's `literal_eval`, where JSON would lose tuples, sets, keys that are no strings, 1.0 or 2**60. */
export type Payload = { payload: Record<string, unknown> } | { literal: string };

/** @throws Error saying what the text is not. */
export function readPayload(text: string): Payload {
  const node = fromJson(text) ?? new Literal(text).read();
  if (node.kind !== "dict") throw new Error("the payload is not an object");
  return isExact(node) ? { payload: toJson(node) as Record<string, unknown> } : { literal: toPython(node) };
}

type Node =
  | { kind: "atom"; python: string; json: unknown; exact: boolean }
  | { kind: "list" | "tuple" | "set"; items: Node[] }
  | { kind: "dict"; entries: [Node, Node][] };

const atom = (python: string, json: unknown, exact = true): Node => ({ kind: "atom", python, json, exact });
// JSON's escapes of quotes, controls and lone surrogates mean the same in Python.
const stringNode = (text: string) => atom(JSON.stringify(text), text);
const numberNode = (source: string) => atom(source, Number(source), String(Number(source)) === source);

class Source {
  readonly text: string;
  constructor(text: string) {
    this.text = text;
  }
}

function fromJson(text: string): Node | undefined {
  const keepNumber = (_key: string, value: unknown, context?: { source: string }) =>
    typeof value === "number" ? new Source(context?.source as string) : value;
  try {
    return nodeOf(JSON.parse(text, keepNumber));
  } catch {
    return undefined;
  }
}

function nodeOf(value: unknown): Node {
  if (value instanceof Source) return numberNode(value.text);
  if (typeof value === "string") return stringNode(value);
  if (Array.isArray(value)) return { kind: "list", items: value.map(nodeOf) };
  if (typeof value === "object" && value !== null) {
    return { kind: "dict", entries: Object.entries(value).map(([key, item]) => [stringNode(key), nodeOf(item)]) };
  }
  return constants.get(String(value)) as Node;
}

const constants: ReadonlyMap<string, Node> = new Map([
  ...["null", "None"].map((name) => [name, atom("None", null)] as const),
  ...["true", "True"].map((name) => [name, atom("True", true)] as const),
  ...["false", "False"].map((name) => [name, atom("False", false)] as const),
]);

function isExact(node: Node): boolean {
  if (node.kind === "atom") return node.exact;
  if (node.kind === "dict") {
    const isName = (key: Node) => key.kind === "atom" && typeof key.json === "string";
    return node.entries.every(([key, value]) => isName(key) && isExact(value));
  }
  return node.kind === "list" && node.items.every(isExact);
}

function toJson(node: Node): unknown {
  if (node.kind === "atom") return node.json;
  if (node.kind !== "dict") return node.items.map(toJson);
  return Object.fromEntries(node.entries.map(([key, value]) => [String(toJson(key)), toJson(value)]));
}

function toPython(node: Node): string {
  if (node.kind === "atom") return node.python;
  if (node.kind === "dict") {
    return `{${node.entries.map(([key, value]) => `${toPython(key)}: ${toPython(value)}`).join(", ")}}`;
  }
  const items = node.items.map(toPython).join(", ");
  if (node.kind === "list") return `[${items}]`;
  if (node.kind === "tuple") return node.items.length === 1 ? `(${items},)` : `(${items})`;
  return node.items.length === 0 ? "set()" : `{${items}}`;
}

const escapes: Readonly<Record<string, string>> = {
  "\n": "",
  "\\": "\\",
  "'": "'",
  '"': '"',
  a: "\x07",
  b: "\b",
  f: "\f",
  n: "\n",
  r: "\r",
  t: "\t",
  v: "\v",
};

/** A reader of Python's literals: what `ast.literal_eval` takes, less complex numbers; JSON's true, false and null too. */
class Literal {
  readonly #text: string;
  #at = 0;

  constructor(text: string) {
    this.#text = text;
  }

  read(): Node {
    const node = this.#value(0);
    this.#space();
    if (this.#at < this.#text.length) this.#fail();
    return node;
  }

  #value(depth: number): Node {
    if (depth > 500) throw new Error("the payload is nested too deep");
    this.#space();
    if (this.#take("[")) return { kind: "list", items: this.#items("]", depth).items };
    if (this.#take("{")) return this.#braces(depth);
    if (this.#take("(")) {
      const { items, comma } = this.#items(")", depth);
      return items.length === 1 && !comma ? (items[0] as Node) : { kind: "tuple", items };
    }
    const number = this.#match(
      /[-+]?(?:0[xX][\da-fA-F_]+|0[oO][0-7_]+|0[bB][01_]+|(?:\d[\d_]*\.?[\d_]*|\.\d[\d_]*)(?:[eE][-+]?\d+)?)/y,
    );
    if (number !== undefined) return numberNode(number);
    if (this.#match(/set\(\s*\)/y) !== undefined) return { kind: "set", items: [] };
    const start = this.#at;
    const opening = this.#match(/[rRbBuU]{0,2}(?:'''|"""|'|")/y);
    if (opening !== undefined) return this.#string(opening, start);
    return constants.get(this.#match(/[A-Za-z]+/y) ?? "") ?? this.#fail();
  }

  #items(close: string, depth: number): { items: Node[]; comma: boolean } {
    const items: Node[] = [];
    let comma = false;
    for (;;) {
      this.#space();
      if (this.#take(close)) return { items, comma };
      if (items.length > 0 && !comma) this.#fail();
      items.push(this.#value(depth + 1));
      this.#space();
      comma = this.#take(",");
    }
  }

  #braces(depth: number): Node {
    const keys: Node[] = [];
    const values: Node[] = [];
    for (let comma = true; ;) {
      this.#space();
      if (this.#take("}")) break;
      if (!comma) this.#fail();
      keys.push(this.#value(depth + 1));
      this.#space();
      if (this.#take(":")) values.push(this.#value(depth + 1));
      this.#space();
      comma = this.#take(",");
    }
    if (values.length === keys.length) return { kind: "dict", entries: keys.map((key, i) => [key, values[i] as Node]) };
    return values.length === 0 ? { kind: "set", items: keys } : this.#fail();
  }

  #string(opening: string, start: number): Node {
    const quote = opening.replace(/^[a-zA-Z]*/, "");
    const prefix = opening.slice(0, -quote.length).toLowerCase();
    let text = "";
    while (!this.#take(quote)) {
      const [character] = this.#text.slice(this.#at, this.#at + 2);
      if (character === undefined || (character === "\n" && quote.length === 1)) this.#fail();
      this.#at += character.length;
      if (character !== "\\") text += character;
      else text += prefix.includes("r") ? `\\${this.#text[this.#at++] ?? ""}` : this.#escape();
    }
    if (prefix.includes("b")) return atom(this.#text.slice(start, this.#at), undefined, false);
    this.#space();
    const next = this.#at;
    const more = this.#match(/[rRuU]?(?:'''|"""|'|")/y);
    if (more === undefined) return stringNode(text);
    const rest = this.#string(more, next);
    return stringNode(text + (rest.kind === "atom" ? String(rest.json) : ""));
  }

  #escape(): string {
    const code = this.#match(/x[\da-fA-F]{2}|u[\da-fA-F]{4}|U[\da-fA-F]{8}/y);
    if (code !== undefined) return String.fromCodePoint(Number.parseInt(code.slice(1), 16));
    const octal = this.#match(/[0-7]{1,3}/y);
    if (octal !== undefined) return String.fromCodePoint(Number.parseInt(octal, 8));
    const character = this.#text[this.#at++] ?? "";
    return escapes[character] ?? `\\${character}`;
  }

  #match(pattern: RegExp): string | undefined {
    pattern.lastIndex = this.#at;
    const found = pattern.exec(this.#text)?.[0];
    this.#at += found?.length ?? 0;
    return found;
  }

  #take(text: string): boolean {
    if (!this.#text.startsWith(text, this.#at)) return false;
    this.#at += text.length;
    return true;
  }

  #space(): void {
    this.#match(/\s+/y);
  }

  #fail(): never {
    const near = this.#text.slice(this.#at, this.#at + 20);
    throw new Error(`neither JSON nor a Python literal, at character ${this.#at + 1}${near ? `: ${near}` : ""}`);
  }
}
