/** Frames for the fuzz test: valid ones, what chance makes of them, and how many replies JSON-RPC 2.0 wants for each. */

import fc from "fast-check";
import { MAX_DEPTH } from "trailgym/protocol";

const request = (method: string, params: unknown, id: unknown = 1) => ({ jsonrpc: "2.0", id, method, params });
const session = "$session";

/** `$session` and `$snapshot` stand for ones that exist. */
const valid: readonly object[] = [
  request("env/list", {}),
  request("rpc.discover", {}, "discover"),
  request("env/tasks", { env: "quiz-v1", split: "test", limit: 2 }),
  request("env/make", { env: "echo-v1", options: { value: [1, { a: null }] }, autoreset: "sameStep" }, 2),
  request("env/make", { env: "countdown-v1", leaseMs: 1000 }, "make"),
  request("env/reset", { session, seed: 4, options: { start: 3 } }, 3),
  request("env/reset", { session, seq: 0 }),
  request("env/step", { session, action: { amount: 1 } }, 4),
  request("env/step", { session, seq: 1, action: { amount: 2 }, timeoutMs: 1000 }, "step"),
  request("env/step", { session, action: { value: { $type: "bytes", base64: "AQI=" } } }),
  request("env/observe", { session }, null),
  request("env/snapshot", { session, label: "x" }, 5),
  request("env/restore", { session, snapshot: "$snapshot" }, 6),
  request("env/fork", { session, count: 2 }, 7),
  request("env/fork", { snapshot: "$snapshot", count: 1 }),
  request("session/attach", { session }, 8),
  request("initialize", { protocolVersions: ["1"], client: { name: "c", version: "0" } }, 9),
  { jsonrpc: "2.0", method: "$/cancel", params: { id: 1 } },
  { jsonrpc: "2.0", method: "env/step", params: { session, action: { amount: 1 } } },
];

interface Node {
  parent: Record<string, unknown>;
  key: string;
}

function nodesOf(value: unknown): Node[] {
  if (typeof value !== "object" || value === null) return [];
  const parent = value as Record<string, unknown>;
  return Object.keys(parent).flatMap((key) => [{ parent, key }, ...nodesOf(parent[key])]);
}

type Mutation = (frame: string) => string;

/** Changes one node of a frame that is JSON; another frame stays as it is. */
function onNode(change: (node: Node) => void, at: number): Mutation {
  return (frame) => {
    try {
      const message = JSON.parse(frame) as unknown;
      const nodes = nodesOf(message);
      if (nodes.length > 0) change(nodes[at % nodes.length] as Node);
      return JSON.stringify(message);
    } catch {
      return frame;
    }
  };
}

const at = fc.nat(1000);
const odd = fc.oneof(
  fc.jsonValue({ maxDepth: 2 }),
  fc.constantFrom(null, -1, 2 ** 53, 1e308, "", "__proto__", "x".repeat(300), [], {}, { $type: "float" }),
  fc.constant({ $type: "object", value: { $type: 1 } }),
);
const key = fc.oneof(fc.string({ maxLength: 5 }), fc.constantFrom("__proto__", "$type", "constructor", "seq", "id"));

const mutation: fc.Arbitrary<Mutation> = fc.oneof(
  at.map(
    (n): Mutation =>
      (frame) =>
        frame.slice(0, n % (frame.length + 1)),
  ),
  fc.tuple(at, at, fc.string({ unit: "binary", maxLength: 4 })).map(([n, length, text]): Mutation => {
    return (frame) =>
      frame.slice(0, n % (frame.length + 1)) + text + frame.slice((n % (frame.length + 1)) + (length % 9));
  }),
  fc.tuple(at, odd).map(([n, value]) => onNode(({ parent, key }) => (parent[key] = value), n)),
  at.map((n) => onNode(({ parent, key }) => delete parent[key], n)),
  fc.tuple(at, key, odd).map(([n, name, value]) => {
    return onNode(({ parent }) => Object.defineProperty(parent, name, { value, enumerable: true }), n);
  }),
  fc.tuple(at, fc.integer({ min: 55, max: 75 })).map(([n, depth]) => {
    return onNode(({ parent, key }) => {
      for (let i = 0; i < depth; i++) parent[key] = i % 2 === 0 ? [parent[key]] : { a: parent[key] };
    }, n);
  }),
);

const single = fc
  .tuple(fc.constantFrom(...valid), fc.array(mutation, { maxLength: 3 }))
  .map(([frame, mutations]) => mutations.reduce((text, mutate) => mutate(text), JSON.stringify(frame)));

/** One text frame. */
export const anyFrame: fc.Arbitrary<string> = fc.oneof(
  { weight: 12, arbitrary: single },
  { weight: 4, arbitrary: fc.array(single, { maxLength: 7 }).map((frames) => `[${frames.join(",")}]`) },
  { weight: 1, arbitrary: fc.string({ unit: "binary", maxLength: 40 }) },
  { weight: 1, arbitrary: fc.json({ maxDepth: 4 }) },
);

/** The ids that the replies to a frame must carry, in any order. */
export function expectedIds(frame: string, maxBatch: number): unknown[] {
  let message: unknown;
  try {
    message = JSON.parse(frame);
  } catch {
    return [null];
  }
  if (depthOf(message) > MAX_DEPTH) return [null];
  if (!Array.isArray(message)) return idsOf(message);
  if (message.length === 0 || message.length > maxBatch) return [null];
  return message.flatMap(idsOf);
}

function idsOf(entry: unknown): unknown[] {
  if (typeof entry !== "object" || entry === null || Array.isArray(entry)) return [null];
  const { jsonrpc, method, params, id, result, error } = entry as Record<string, unknown>;
  const safe = typeof id === "number" && Math.abs(id) <= Number.MAX_SAFE_INTEGER;
  const known = safe || id === null || (typeof id === "string" && id.length <= 256);
  const isId = id === undefined || known;
  const isRequest =
    jsonrpc === "2.0" &&
    typeof method === "string" &&
    isId &&
    result === undefined &&
    error === undefined &&
    (params === undefined || (typeof params === "object" && params !== null));
  if (isRequest) return id === undefined ? [] : [JSON.parse(JSON.stringify(id))];
  return [method !== undefined && known ? JSON.parse(JSON.stringify(id)) : null];
}

function depthOf(value: unknown): number {
  if (typeof value !== "object" || value === null) return 0;
  return 1 + Object.values(value).reduce((most: number, item) => Math.max(most, depthOf(item)), 0);
}
