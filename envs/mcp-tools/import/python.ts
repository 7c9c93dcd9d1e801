/** What do a Python call and a Python literal say, where data sets hold them as text? */

export interface PythonCall {
  name: string;
  /** In order, then by name. */
  positional: unknown[];
  named: Record<string, unknown>;
}

/** `cd(folder='a', depth=2)`; values are literals. @throws SyntaxError that says where it stops being one. */
export function parsePythonCall(text: string): PythonCall {
  const reader = new Reader(text);
  const call = reader.call();
  reader.end();
  return call;
}

/** @throws SyntaxError */
export function parsePython(text: string): unknown {
  const reader = new Reader(text);
  const value = reader.value();
  reader.end();
  return value;
}

/** Reads one value at the beginning of a text that goes on. @returns the value and where it ends. @throws SyntaxError */
export function parsePythonAt(text: string, at: number): { value: unknown; end: number } {
  const reader = new Reader(text, at);
  return { value: reader.value(), end: reader.at };
}

const words: Readonly<Record<string, unknown>> = {
  True: true,
  False: false,
  None: null,
  true: true,
  false: false,
  null: null,
};
const escapes: Readonly<Record<string, string>> = {
  n: "\n",
  t: "\t",
  r: "\r",
  b: "\b",
  f: "\f",
  a: "\x07",
  v: "\v",
  "0": "\0",
};
const codes: Readonly<Record<string, number>> = { x: 2, u: 4, U: 8 };
/** Lists in lists in lists: nobody's arguments. */
const MAX_DEPTH = 60;

class Reader {
  at: number;
  readonly #text: string;
  #depth = 0;

  constructor(text: string, at = 0) {
    this.#text = text;
    this.at = at;
  }

  call(): PythonCall {
    const name = this.#match(/[A-Za-z_][\w.]*/y);
    if (name === undefined) throw this.#error("no name of a function");
    this.#expect("(");
    const call: PythonCall = { name, positional: [], named: {} };
    this.#items(")", () => {
      const key = this.#match(/([A-Za-z_]\w*)\s*=(?!=)/y)?.replace(/\s*=$/, "");
      if (key === undefined) call.positional.push(this.value());
      else call.named[key] = this.value();
    });
    return call;
  }

  value(): unknown {
    if (++this.#depth > MAX_DEPTH) throw this.#error("nested too deep");
    const value = this.#value();
    this.#depth--;
    return value;
  }

  end(): void {
    this.#space();
    if (this.at < this.#text.length) throw this.#error("more than one value");
  }

  #value(): unknown {
    this.#space();
    const first = this.#text.charAt(this.at);
    if (first === "[" || first === "(") return this.#list(first === "[" ? "]" : ")");
    if (first === "{") return this.#braces();
    if (first === "'" || first === '"') return this.#strings();
    const number = this.#match(/[-+]?(?:\d[\d_]*\.?\d*|\.\d+)(?:[eE][-+]?\d+)?/y);
    if (number !== undefined) return Number(number.replaceAll("_", ""));
    const word = this.#match(/[A-Za-z_]\w*/y);
    if (word !== undefined && Object.hasOwn(words, word)) return words[word];
    if (word !== undefined && /^[rbuRBU]{1,2}$/.test(word) && /['"]/.test(this.#text.charAt(this.at))) {
      return this.#string(/r/i.test(word));
    }
    throw this.#error(word === undefined ? "no value" : `"${word}" is no literal`);
  }

  /** A tuple of one is a list of one; "(1)" is taken for the same, which no data set writes. */
  #list(end: string): unknown[] {
    this.at++;
    const list: unknown[] = [];
    this.#items(end, () => list.push(this.value()));
    return list;
  }

  /** A dict, or a set as a list. */
  #braces(): unknown {
    this.at++;
    const entries: [string, unknown][] = [];
    const set: unknown[] = [];
    this.#items("}", () => {
      const key = this.value();
      this.#space();
      if (this.#text.charAt(this.at) !== ":") return set.push(key);
      this.at++;
      return entries.push([typeof key === "string" ? key : JSON.stringify(key), this.value()]);
    });
    return set.length > 0 ? set : Object.fromEntries(entries);
  }

  #items(end: string, item: () => unknown): void {
    for (;;) {
      this.#space();
      if (this.#text.charAt(this.at) === end) break;
      item();
      this.#space();
      if (this.#text.charAt(this.at) === ",") this.at++;
      else if (this.#text.charAt(this.at) !== end) throw this.#error(`"," or "${end}" is missing`);
    }
    this.at++;
  }

  /** Neighbours are one text. */
  #strings(): string {
    let text = this.#string(false);
    for (;;) {
      const before = this.at;
      this.#space();
      if (!/['"]/.test(this.#text.charAt(this.at))) {
        this.at = before;
        return text;
      }
      text += this.#string(false);
    }
  }

  #string(isRaw: boolean): string {
    const quote = this.#match(/'''|"""|'|"/y) as string;
    let text = "";
    while (!this.#text.startsWith(quote, this.at)) {
      if (this.at >= this.#text.length) throw this.#error("a text does not end");
      const character = this.#text.charAt(this.at++);
      text += character === "\\" && !isRaw ? this.#escape() : character;
    }
    this.at += quote.length;
    return text;
  }

  #escape(): string {
    const character = this.#text.charAt(this.at++);
    const digits = codes[character];
    if (digits === undefined)
      return character === "\n"
        ? ""
        : (escapes[character] ?? (/['"\\]/.test(character) ? character : `\\${character}`));
    const code = this.#text.slice(this.at, this.at + digits);
    if (!/^[0-9a-fA-F]+$/.test(code) || code.length < digits) throw this.#error("a broken escape");
    this.at += digits;
    return String.fromCodePoint(Math.min(Number.parseInt(code, 16), 0x10ffff));
  }

  #match(pattern: RegExp): string | undefined {
    pattern.lastIndex = this.at;
    const found = pattern.exec(this.#text)?.[0];
    if (found !== undefined) this.at += found.length;
    return found;
  }

  #space(): void {
    this.#match(/\s+/y);
  }

  #expect(character: string): void {
    this.#space();
    if (this.#text.charAt(this.at) !== character) throw this.#error(`"${character}" is missing`);
    this.at++;
  }

  #error(problem: string): SyntaxError {
    return new SyntaxError(`${problem} at column ${this.at + 1} of ${JSON.stringify(this.#text.slice(0, 80))}`);
  }
}
