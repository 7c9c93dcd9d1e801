/**
 * What may a plain program's functions do? Anything that is over when the call is, and that runs in strict mode just as it
 * does in sloppy mode, unless it throws.
 */

import type { AnyNode, Node, Program } from "acorn";
import { NotPlain } from "./not-plain.ts";

/** Called at the start of each `catch`; see harden.ts. */
export const CAUGHT = "trailgym_caught";

export interface Conduct {
  /** Where the bodies of catch clauses begin, after the brace, in ascending order. */
  catches: readonly number[];
  /** Identifiers `JSON` in `JSON.stringify` and `JSON.parse(text)`. */
  safeJson: ReadonlySet<Node>;
  sloppyThis: boolean;
  /** It has object literals with accessors. */
  accessors: boolean;
}

/** Whose `this`: nobody's at the top level, where it is the global object. */
type Self = "global" | "sloppy" | "strict";

interface Surroundings {
  self: Self;
  /** Inside a `finally`, where leaving it forgets the error. */
  final: boolean;
  depth: number;
}

// Bounds the time that all this takes to some 100 ms. A program of 120 lines has 900 nodes, 22 deep.
const MAX_DEPTH = 100;
const MAX_NODES = 15_000;

// An allow list: what a newer parser may know beside them has not been thought about.
const known = new Set(
  (
    "Program ExpressionStatement BlockStatement EmptyStatement DebuggerStatement ReturnStatement LabeledStatement " +
    "BreakStatement ContinueStatement IfStatement SwitchStatement SwitchCase ThrowStatement TryStatement CatchClause " +
    "WhileStatement DoWhileStatement ForStatement ForInStatement ForOfStatement FunctionDeclaration VariableDeclaration " +
    "VariableDeclarator ThisExpression ArrayExpression ObjectExpression Property FunctionExpression UnaryExpression " +
    "UpdateExpression BinaryExpression AssignmentExpression LogicalExpression MemberExpression ConditionalExpression " +
    "CallExpression NewExpression SequenceExpression ArrowFunctionExpression YieldExpression TemplateLiteral " +
    "TaggedTemplateExpression TemplateElement ObjectPattern ArrayPattern RestElement AssignmentPattern SpreadElement " +
    "ClassDeclaration ClassExpression ClassBody MethodDefinition PropertyDefinition PrivateIdentifier StaticBlock Super " +
    "MetaProperty ChainExpression Identifier Literal"
  ).split(" "),
);
/** A yield as well: who asked for the value need not come back for the error. */
const leaving = new Set(["ReturnStatement", "BreakStatement", "ContinueStatement", "YieldExpression"]);

/** @throws NotPlain */
export function conduct(program: Program): Conduct {
  const catches: number[] = [];
  const safeJson = new Set<Node>();
  let sloppyThis = false;
  let accessors = false;
  let nodes = 0;

  const visit = (node: AnyNode, parent: AnyNode | undefined, around: Surroundings): void => {
    if (!known.has(node.type)) throw new NotPlain(`has a ${node.type}`, node);
    if (around.depth > MAX_DEPTH) throw new NotPlain("is nested too deeply", node);
    if (++nodes > MAX_NODES) throw new NotPlain("is too long", node);
    if (around.final && leaving.has(node.type)) throw new NotPlain("may leave a finally block", node);
    look(node, parent, around);
    const inside = surroundings(node, around);
    for (const [key, child] of children(node)) {
      visit(child, node, {
        self: selfOf(node, key, inside.self),
        final: inside.final || (node.type === "TryStatement" && key === "finalizer"),
        depth: around.depth + 1,
      });
    }
  };

  const look = (node: AnyNode, parent: AnyNode | undefined, { self }: Surroundings): void => {
    switch (node.type) {
      case "FunctionDeclaration":
      case "FunctionExpression":
      case "ArrowFunctionExpression":
        if (node.async) throw new NotPlain("is asynchronous", node);
        return;
      case "BlockStatement":
        // Sloppy mode makes a variable of the whole function of it as well.
        if (!parent || !isFunction(parent)) node.body.forEach(refuseFunction);
        return;
      case "SwitchCase":
        return node.consequent.forEach(refuseFunction);
      case "ForOfStatement":
        if (node.await) throw new NotPlain("is asynchronous", node);
        return;
      case "MetaProperty":
        if (node.meta.name !== "new") throw new NotPlain("uses import.meta", node);
        return;
      case "CatchClause":
        catches.push(node.body.start + 1);
        return;
      case "Identifier":
        if (node.name === "arguments" && !isName(node, parent)) throw new NotPlain("uses arguments", node);
        // Not even as the name of something else: what is said at the start of a catch must reach harden.ts.
        if (node.name === CAUGHT) throw new NotPlain(`uses ${CAUGHT}`, node);
        return;
      case "Property":
        accessors ||= node.kind !== "init";
        return;
      case "Super":
        if (self !== "strict") throw new NotPlain("hands a method a this that may be the global object", node);
        return;
      case "ThisExpression":
        if (self === "strict") return;
        if (self === "global") throw new NotPlain("uses the global object", node);
        // `this?.x` would be undefined where sloppy mode looks at the global object; `this.x` throws.
        if (parent?.type !== "MemberExpression" || parent.object !== node || parent.optional)
          throw new NotPlain("passes on a this that may be the global object", node);
        sloppyThis = true;
        return;
      case "MemberExpression":
        if (node.object.type === "Identifier" && !node.computed && node.property.type === "Identifier") {
          const { name } = node.property;
          const oneArgument =
            parent?.type === "CallExpression" &&
            parent.callee === node &&
            parent.arguments.length === 1 &&
            parent.arguments[0]!.type !== "SpreadElement";
          // A function that revives values may put one that lives on where JSON.parse writes without a word.
          if (name === "stringify" || (name === "parse" && oneArgument)) safeJson.add(node.object);
        }
        return;
      default:
    }
  };

  visit(program, undefined, { self: "global", final: false, depth: 0 });
  return { catches: catches.toSorted((a, b) => a - b), safeJson, sloppyThis, accessors };
}

function refuseFunction(statement: AnyNode): void {
  if (statement.type === "FunctionDeclaration") throw new NotPlain("declares a function in a block", statement);
}

function isFunction(node: AnyNode): boolean {
  return /^(FunctionDeclaration|FunctionExpression|ArrowFunctionExpression)$/.test(node.type);
}

function surroundings(node: AnyNode, { self, final, depth }: Surroundings): Surroundings {
  if (!isFunction(node)) return { self, final, depth };
  // Methods of classes are strict already, and in there everything is.
  if (node.type === "ArrowFunctionExpression") return { self, final: false, depth };
  return { self: self === "strict" ? "strict" : "sloppy", final: false, depth };
}

function selfOf(node: AnyNode, key: string, self: Self): Self {
  const isElement = node.type === "MethodDefinition" || node.type === "PropertyDefinition";
  // A key is computed, and a superclass is, when the class is made.
  return (isElement && key === "value") || node.type === "StaticBlock" ? "strict" : self;
}

/** Of a property; not a variable. */
function isName(node: AnyNode, parent: AnyNode | undefined): boolean {
  if (parent?.type === "MemberExpression") return parent.property === node && !parent.computed;
  if (parent?.type === "Property") return parent.key === node && !parent.computed && !parent.shorthand;
  return parent?.type === "MethodDefinition" || parent?.type === "PropertyDefinition" ? parent.key === node : false;
}

function* children(node: AnyNode): Generator<[string, AnyNode]> {
  for (const [key, value] of Object.entries(node) as [string, unknown][]) {
    for (const child of Array.isArray(value) ? (value as unknown[]) : [value]) {
      if (typeof child === "object" && child !== null && "type" in child) yield [key, child as AnyNode];
    }
  }
}
