/** What JSON Schema does a Python annotation mean? `List[Tuple[int, str]]`, `int | None`, and a docstring's "list of int" alike. */

type Schema = Record<string, unknown>;

/** `{}` (anything) for what JSON has no word for or what cannot be read. */
export function annotationSchema(text: string): Schema {
  const tokens: readonly string[] = text.match(/[A-Za-z_][\w.]*|\.\.\.|-?\d+|'[^']*'|"[^"]*"|[[\],|]/g) ?? [];
  let at = 0;

  function union(): Schema {
    const branches = [item()];
    while (tokens[at] === "|") {
      at++;
      branches.push(item());
    }
    return anyOf(branches);
  }

  function item(): Schema {
    const token = tokens[at++];
    if (token === undefined) return {};
    if (/^['"]/.test(token)) return annotationSchema(token.slice(1, -1));
    const name = token.slice(token.lastIndexOf(".") + 1).toLowerCase();
    if (tokens[at] !== "[") return plain[name] ?? {};
    at++;
    if (name === "literal") return { enum: literals() };
    return generic(name, parameters());
  }

  function parameters(): (Schema | "...")[] {
    const found: (Schema | "...")[] = [];
    while (at < tokens.length && tokens[at] !== "]") {
      if (tokens[at] === "...") found.push("...");
      if (tokens[at] === "," || tokens[at] === "...") at++;
      else found.push(tokens[at] === "[" ? (at++, parameters(), {}) : union());
    }
    at++;
    return found;
  }

  function literals(): unknown[] {
    const end = tokens.indexOf("]", at);
    const values = tokens.slice(at, end).filter((token) => token !== ",");
    at = end + 1;
    return values.map((token) =>
      /^['"]/.test(token) ? token.slice(1, -1) : token in constants ? constants[token] : Number(token),
    );
  }

  return union();
}

const array = { type: "array" };
const object = { type: "object" };
const plain: Readonly<Record<string, Schema>> = {
  int: { type: "integer" },
  integer: { type: "integer" },
  float: { type: "number" },
  number: { type: "number" },
  str: { type: "string" },
  string: { type: "string" },
  bool: { type: "boolean" },
  boolean: { type: "boolean" },
  none: { type: "null" },
  nonetype: { type: "null" },
  ...Object.fromEntries(
    ["list", "tuple", "set", "frozenset", "sequence", "iterable", "collection", "deque", "array"].map((n) => [
      n,
      array,
    ]),
  ),
  ...Object.fromEntries(["dict", "dictionary", "mapping", "defaultdict", "counter"].map((n) => [n, object])),
};

const constants: Readonly<Record<string, unknown>> = { None: null, True: true, False: false };

function generic(name: string, parameters: (Schema | "...")[]): Schema {
  const schemas = parameters.filter((parameter) => parameter !== "...");
  const [first = {}, second = {}] = schemas;
  if (name === "optional") return anyOf([first, { type: "null" }]);
  if (name === "union") return anyOf(schemas);
  if (plain[name] === object) return isAny(second) ? { ...object } : { ...object, additionalProperties: second };
  if (plain[name] !== array) return name === "annotated" || name === "final" ? first : {};
  const isTuple = name === "tuple" && !parameters.includes("...");
  if (isTuple) return { ...array, prefixItems: schemas, minItems: schemas.length, maxItems: schemas.length };
  return isAny(first) ? { ...array } : { ...array, items: first };
}

function anyOf(branches: Schema[]): Schema {
  if (branches.length === 1 || branches.some(isAny)) return branches.length === 1 ? (branches[0] as Schema) : {};
  const simple = branches.every((branch) => Object.keys(branch).length === 1 && typeof branch.type === "string");
  return simple ? { type: [...new Set(branches.map((branch) => branch.type))] } : { anyOf: branches };
}

const isAny = (schema: Schema) => Object.keys(schema).length === 0;
