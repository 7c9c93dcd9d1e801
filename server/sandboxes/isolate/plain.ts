/**
 * Is a program plain: can one call of it leave nothing behind for the next, once everything that it finds is frozen? Then
 * calls may share a context. The proof is about the text, and says no when in doubt: a program that is not plain runs as
 * well, in a context for each call.
 *
 * A call could leave something in three kinds of places. In variables: here it is shown that none of the top level is
 * ever assigned, and that no function is made at the top level inside another, so that no hidden scope lives on. In
 * objects: harden.ts freezes those, but for a few that it compares after each call. In what JavaScript keeps out of sight
 * (private fields, iterators, promises …): initial.ts and conduct.ts refuse what would make one that lives on.
 *
 * And a program must not see that it is shared. What it tries to change makes it throw, because its text is compiled in
 * strict mode here; whatever it could do not to let that through is refused, or noticed (`trailgym_caught`).
 */

import { type Node, parse, type Program } from "acorn";
import { analyze } from "eslint-scope";
import { CAUGHT, conduct, type Conduct } from "./conduct.ts";
import { Initial } from "./initial.ts";
import { NotPlain } from "./not-plain.ts";

export interface Plain {
  /** To be compiled in place of the program's, one line up: strict, and with a word said at the start of each `catch`. */
  texts: readonly string[];
  /** Of the top level. */
  names: readonly string[];
  /** The texts differ from the program's in columns, which a trace shows. */
  reworded: boolean;
  /** It has a `this` that is the global object in sloppy mode and undefined in strict mode. */
  sloppyThis: boolean;
  /** Its text makes no accessors of objects, no symbols and no proxies. */
  ordinary: boolean;
}

const STRICT = '"use strict";\n';
/** A larger program is not looked at: the look takes the time of whoever calls next. */
const MAX_LENGTH = 100_000;
const VERSION = 2025;

/**
 * Found through no other object than the global one. The first make code out of text; of the others' failures a program
 * need not be told, or only later.
 */
const refused = new Set(["eval", "Function", "globalThis", "Reflect", "Promise", "AsyncDisposableStack"]);

/** @returns why not, as the end of a sentence that begins with the program, if it is not plain. */
export function plainness(program: readonly string[]): Plain | string {
  try {
    return prove(program);
  } catch (error) {
    if (error instanceof NotPlain) return error.message;
    // Not what V8 takes for JavaScript, perhaps; or nested too deeply for the parser.
    return `cannot be read: ${(error as Error).message}`;
  }
}

function prove(program: readonly string[]): Plain {
  if (program.reduce((sum, text) => sum + text.length, 0) > MAX_LENGTH) throw new NotPlain("is too long");
  const texts = program.map((text) => `${STRICT}${text}\n;undefined`);
  const trees = texts.map((text) =>
    parse(text, { ecmaVersion: VERSION, sourceType: "script", locations: true, ranges: true }),
  );
  const conducts = trees.map(conduct);
  const initial = new Initial();
  for (const tree of trees) initial.run(tree.body);
  const used = trees.flatMap((tree, i) => languageNames(tree, initial.names, conducts[i]!));
  return {
    texts: texts.map((text, i) => reword(text, conducts[i]!.catches)),
    names: [...initial.names],
    reworded: conducts.some(({ catches }) => catches.length > 0),
    sloppyThis: conducts.some(({ sloppyThis }) => sloppyThis),
    ordinary: !conducts.some(({ accessors }) => accessors) && !used.includes("Symbol") && !used.includes("Proxy"),
  };
}

/** @returns the names that are not the program's own. @throws NotPlain when one is refused, or written to */
function languageNames(tree: Program, names: ReadonlySet<string>, { safeJson }: Conduct): string[] {
  const { scopes } = analyze(tree as Parameters<typeof analyze>[0], {
    ecmaVersion: VERSION,
    sourceType: "script",
    impliedStrict: true,
  });
  const used: string[] = [];
  for (const reference of scopes.flatMap((scope) => scope.references)) {
    if (reference.resolved && reference.resolved.scope.type !== "global") continue;
    const name = String(reference.identifier.name);
    const node = reference.identifier as unknown as Node;
    // The first value of a declaration is written as well; elsewhere than at the top level its name is resolved above.
    if (reference.isWrite() && !reference.init) throw new NotPlain(`assigns to ${name}, which outlives a call`, node);
    if (names.has(name)) continue;
    if (refused.has(name)) throw new NotPlain(`uses ${name}`, node);
    if (name === "JSON" && !safeJson.has(node)) throw new NotPlain("uses JSON in an uncommon way", node);
    used.push(name);
  }
  return used;
}

/** @param catches where the bodies of catch clauses begin, in ascending order */
function reword(text: string, catches: readonly number[]): string {
  let reworded = "";
  let done = 0;
  for (const at of catches) {
    reworded += `${text.slice(done, at)}${CAUGHT}();`;
    done = at;
  }
  return reworded + text.slice(done);
}
