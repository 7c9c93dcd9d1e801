/**
 * What may a plain program's top level do? Declare functions, classes, and constants whose values are made without running
 * any function of the program: literals, functions, arrays and objects of those, some of what the language computes from
 * them. So whatever lives on has no other scope than the top level, and is an ordinary object.
 */

import type {
  AnyNode,
  CallExpression,
  Class,
  Expression,
  MemberExpression,
  ModuleDeclaration,
  Node,
  ObjectExpression,
  Pattern,
  SpreadElement,
  Statement,
  VariableDeclarator,
} from "acorn";
import { NotPlain } from "./not-plain.ts";

/** `data` holds no function of the program, at any depth: turning it into text or a number runs nothing of the program's. */
type Kind = "data" | "thing";

const constants = new Set(["undefined", "NaN", "Infinity"]);
const converters = new Set(["Number", "String", "Boolean", "BigInt", "parseInt", "parseFloat"]);
const namespaces = new Set(["Math", "Number", "String", "Object", "Array", "JSON", "Symbol"]);
/** Of data, with data, make data. */
const functions =
  /^(Math|Number|String)\.|^Object\.(values|entries|fromEntries|hasOwn)$|^Array\.(from|of|isArray)$|^JSON\./;
const methods = new Set(
  (
    "at charAt charCodeAt codePointAt concat endsWith every fill filter find findIndex flat flatMap includes indexOf join " +
    "lastIndexOf map padEnd padStart reduce repeat replace replaceAll reverse slice some sort split startsWith substring " +
    "toFixed toLowerCase toReversed toSorted toString toUpperCase trim trimEnd trimStart with"
  ).split(" "),
);

export class Initial {
  readonly #kinds = new Map<string, Kind>();
  /** While the function that a built-in method was given is looked at: its parameters. */
  #parameters: Set<string> | undefined;

  get names(): ReadonlySet<string> {
    return new Set(this.#kinds.keys());
  }

  /** @param body of one text; texts come in the order in which they run */
  run(body: readonly (Statement | ModuleDeclaration)[]): void {
    for (const statement of body) {
      if (statement.type === "FunctionDeclaration") this.#declare(statement.id.name, "thing", statement);
    }
    for (const statement of body) this.#statement(statement);
  }

  #statement(statement: Statement | ModuleDeclaration): void {
    switch (statement.type) {
      case "FunctionDeclaration":
      case "EmptyStatement":
        return;
      case "ClassDeclaration":
        this.#class(statement);
        return this.#declare(statement.id.name, "thing", statement);
      case "VariableDeclaration":
        return statement.declarations.forEach((declarator) => this.#declarator(declarator));
      case "ExpressionStatement":
        this.#kind(statement.expression);
        return;
      default:
        throw new NotPlain("does more at the top level than declare", statement);
    }
  }

  #declare(name: string, kind: Kind, node: Node): void {
    if (this.#kinds.has(name)) throw new NotPlain(`declares ${name} twice`, node);
    this.#kinds.set(name, kind);
  }

  #declarator({ id, init }: VariableDeclarator): void {
    if (id.type === "Identifier") return this.#declare(id.name, init ? this.#kind(init) : "data", id);
    const ofLanguage = init?.type === "Identifier" && this.#isNamespace(init);
    if (!ofLanguage) this.#data(init!);
    for (const name of this.#namesIn(id)) this.#declare(name, ofLanguage ? "thing" : "data", id);
  }

  #namesIn(pattern: Pattern): string[] {
    switch (pattern.type) {
      case "Identifier":
        return [pattern.name];
      case "ArrayPattern":
        return pattern.elements.flatMap((element) => (element ? this.#namesIn(element) : []));
      case "ObjectPattern":
        return pattern.properties.flatMap((property) => {
          if (property.type === "RestElement") return this.#namesIn(property.argument);
          if (property.computed) this.#data(property.key);
          return this.#namesIn(property.value);
        });
      case "AssignmentPattern":
        this.#data(pattern.right);
        return this.#namesIn(pattern.left);
      case "RestElement":
        return this.#namesIn(pattern.argument);
      case "MemberExpression":
        throw new NotPlain("assigns to a property at the top level", pattern);
    }
  }

  #data(node: Expression): "data" {
    if (this.#kind(node) !== "data") throw new NotPlain("computes with functions at the top level", node);
    return "data";
  }

  #kind(node: Expression): Kind {
    switch (node.type) {
      case "Literal":
        return node.regex ? "thing" : "data";
      case "Identifier":
        return this.#identifier(node.name, node);
      case "FunctionExpression":
      case "ArrowFunctionExpression":
        return "thing";
      case "ClassExpression":
        this.#class(node);
        return "thing";
      case "TemplateLiteral":
        return all(node.expressions.map((part) => this.#data(part)));
      case "UnaryExpression":
        if (node.operator === "delete") break;
        return this.#data(node.argument);
      case "BinaryExpression":
        if (node.left.type === "PrivateIdentifier" || /^in/.test(node.operator)) break;
        return all([this.#data(node.left), this.#data(node.right)]);
      case "LogicalExpression":
        return all([this.#data(node.left), this.#kind(node.right)]);
      case "ConditionalExpression":
        this.#data(node.test);
        return all([this.#kind(node.consequent), this.#kind(node.alternate)]);
      case "ArrayExpression":
        return all(node.elements.map((element) => (element ? this.#element(element) : "data")));
      case "ObjectExpression":
        return this.#object(node);
      case "MemberExpression":
        return this.#member(node);
      case "CallExpression":
        return this.#call(node);
      case "NewExpression":
        // Their content is compared after each call. One that is empty is there to be filled: a cache.
        if (node.callee.type !== "Identifier" || !["Set", "Map"].includes(node.callee.name)) break;
        if (this.#kinds.has(node.callee.name) || node.arguments.length !== 1) break;
        this.#element(node.arguments[0]!);
        return "thing";
      default:
    }
    throw new NotPlain("does more at the top level than declare", node);
  }

  #identifier(name: string, node: Node): Kind {
    if (this.#parameters?.has(name)) return "data";
    const kind = this.#kinds.get(name);
    if (kind) return kind;
    if (constants.has(name)) return "data";
    throw new NotPlain(`needs ${name} at the top level before it is there`, node);
  }

  /** In an array or an argument list, where a spread iterates. */
  #element(node: Expression | SpreadElement): Kind {
    return node.type === "SpreadElement" ? this.#data(node.argument) : this.#kind(node);
  }

  #object({ properties }: ObjectExpression): Kind {
    return all(
      properties.map((property) => {
        // Copies properties, and there are no accessors.
        if (property.type === "SpreadElement") return this.#kind(property.argument);
        if (property.kind !== "init") throw new NotPlain("has an accessor in an object of the top level", property);
        if (property.computed) this.#data(property.key);
        return this.#kind(property.value);
      }),
    );
  }

  #member(node: MemberExpression): Kind {
    const { object, property, computed } = node;
    if (object.type === "Super" || property.type === "PrivateIdentifier") throw new NotPlain("reads super", node);
    if (computed) this.#data(property);
    return !computed && this.#isNamespace(object) ? "data" : this.#data(object);
  }

  #isNamespace(node: AnyNode): boolean {
    return node.type === "Identifier" && namespaces.has(node.name) && !this.#isDeclared(node.name);
  }

  #isDeclared(name: string): boolean {
    return this.#kinds.has(name) || this.#parameters?.has(name) === true;
  }

  #call({ callee, arguments: args, optional }: CallExpression): Kind {
    const refuse = (): never => {
      throw new NotPlain("calls a function at the top level", callee);
    };
    if (optional) return refuse();
    if (callee.type === "Identifier") {
      if (!converters.has(callee.name) || this.#isDeclared(callee.name)) return refuse();
      return all(args.map((argument) => this.#dataElement(argument)));
    }
    if (callee.type !== "MemberExpression" || callee.computed || callee.optional || callee.object.type === "Super")
      return refuse();
    const name = nameOf(callee.property);
    if (!this.#isNamespace(callee.object)) {
      if (!methods.has(name)) return refuse();
      this.#data(callee.object);
      return all(args.map((argument) => this.#argument(argument)));
    }
    const full = `${nameOf(callee.object)}.${name}`;
    const first = args[0];
    if (full === "Object.freeze" || full === "Object.keys") {
      if (args.length !== 1 || first!.type === "SpreadElement") return refuse();
      const kind = this.#kind(first!);
      return full === "Object.keys" ? "data" : kind;
    }
    if (!functions.test(full)) return refuse();
    return all(args.map((argument) => this.#argument(argument)));
  }

  #dataElement(node: Expression | SpreadElement): "data" {
    return this.#data(node.type === "SpreadElement" ? node.argument : node);
  }

  /** Data, or a function that makes data of data and nothing else. */
  #argument(node: Expression | SpreadElement): "data" {
    if (node.type === "Identifier" && converters.has(node.name) && !this.#isDeclared(node.name)) return "data";
    if (node.type !== "ArrowFunctionExpression") return this.#dataElement(node);
    if (node.async || node.body.type === "BlockStatement" || this.#parameters)
      throw new NotPlain("runs a function at the top level", node);
    this.#parameters = new Set(node.params.flatMap((parameter) => this.#namesIn(parameter)));
    this.#data(node.body);
    this.#parameters = undefined;
    return "data";
  }

  #class({ superClass, body }: Class): void {
    // A prototype's own class or one of the language; nothing runs.
    const inherits = superClass && !(superClass.type === "Literal");
    if (inherits && superClass.type !== "Identifier") throw new NotPlain("computes a class to extend", superClass);
    for (const element of body.body) {
      if (element.type === "StaticBlock") throw new NotPlain("has a static block", element);
      if (element.computed) this.#data(element.key as Expression);
      const isPrivate = element.key.type === "PrivateIdentifier";
      if (element.type === "MethodDefinition") {
        // No walk over properties finds the function of a private method, and so nothing would freeze it.
        if (isPrivate) throw new NotPlain("has a private method", element);
        continue;
      }
      // A constructor that returns an object which lives on would give it a field that nothing freezes.
      if (isPrivate && (element.static || inherits))
        throw new NotPlain("has a private field that may live on", element);
      if (element.static && element.value) this.#kind(element.value);
    }
  }
}

function all(kinds: readonly Kind[]): Kind {
  return kinds.includes("thing") ? "thing" : "data";
}

function nameOf(node: AnyNode): string {
  if (node.type === "Identifier") return node.name;
  return node.type === "Literal" ? String(node.value) : "";
}
