/** From a frame's text to the reply's: JSON-RPC 2.0 on one side, the handlers on the other. The one catch is here. */

import { type JSONRPCErrorResponse, type JSONRPCRequest, type JSONRPCResponse, JSONRPCServer } from "json-rpc-2.0";
import { decode, type Json, MAX_DEPTH, type MethodName, methods, ValueError, WireError } from "trailgym/protocol";
import type { Logger } from "pino";
import { closest } from "./closest.ts";
import { type Connection, Request, type RequestId } from "./connection.ts";
import { deeperThan } from "./depth.ts";
import { disclosed } from "./disclosure.ts";
import type { Handlers } from "./handlers.ts";
import type { InFlight } from "./in-flight.ts";
import type { Metrics } from "./metrics.ts";
import { JsonText } from "./sessions/session.ts";
import { describe, issuesOf } from "./sessions/transaction.ts";

export interface DispatchParts {
  handlers: Handlers;
  maxMessageBytes: number;
  maxBatch: number;
  inFlight: InFlight;
  metrics: Metrics;
  log: Logger;
  /** True while the server drains: only calls that end something are still taken. */
  draining: () => boolean;
}

/** The largest message before `initialize`. */
const maxGreetingBytes = 65_536;
/** A batch's reply may be so many times as large as a single one. */
const batchFactor = 4;

interface Call {
  connection: Connection;
  request: Request;
}

/** @returns a function from one frame's text to the reply's text, or undefined when nothing is to be answered. */
export function createDispatch(
  parts: DispatchParts,
): (connection: Connection, frame: string) => Promise<string | undefined> {
  const { handlers, maxMessageBytes, maxBatch, inFlight, metrics, log } = parts;
  const rpc = new JSONRPCServer<Call>({ errorListener: () => undefined });
  rpc.mapErrorToJSONRPCErrorResponse = (id, error) => failure(id, toWireError(error));
  for (const name of Object.keys(methods) as MethodName[])
    rpc.addMethodAdvanced(name, (request, call) => invoke(name, request, call));

  return async (connection, frame) => {
    metrics.message();
    const parsed = parse(frame);
    if (parsed instanceof WireError) return textOf(failure(null, parsed));
    const { message } = parsed;
    // Whoever has not said who they are gets little room.
    const limit = connection.principal === undefined ? Math.min(maxGreetingBytes, maxMessageBytes) : maxMessageBytes;
    const bytes = sizeBeyond(limit, frame);
    if (bytes !== undefined) return textOf(failure(idOf(message), tooLarge(bytes, limit)));
    const { principal } = connection;
    if (principal === undefined) return answerAll(connection, message);
    try {
      inFlight.enter(principal, frame.length);
    } catch (error) {
      return answerAll(connection, message, error as WireError);
    }
    try {
      return await answerAll(connection, message);
    } finally {
      inFlight.leave(principal, frame.length);
    }
  };

  /** @param refusal why none of it is taken */
  async function answerAll(connection: Connection, message: unknown, refusal?: WireError): Promise<string | undefined> {
    if (!Array.isArray(message)) return answer(connection, message, refusal);
    if (message.length === 0) return textOf(failure(null, invalidRequest("an empty batch")));
    if (message.length > maxBatch) {
      return textOf(failure(null, invalidRequest(`a batch of ${message.length}; ${maxBatch} requests are allowed`)));
    }
    const replies = await Promise.all(message.map((entry) => answer(connection, entry, refusal)));
    return batchOf(replies.map((text, i) => (text === undefined ? undefined : { id: idOf(message[i]), text })));
  }

  /** Each reply has its own limit; all of them together have one too, or a batch of images would exhaust the server. */
  function batchOf(replies: readonly ({ id: RequestId; text: string } | undefined)[]): string | undefined {
    let total = 0;
    const texts = replies.flatMap((reply) => {
      if (reply === undefined) return [];
      total += reply.text.length;
      return total <= batchFactor * maxMessageBytes ? [reply.text] : [textOf(failure(reply.id, noRoom()))];
    });
    return texts.length === 0 ? undefined : `[${texts.join(",")}]`;
  }

  async function answer(
    connection: Connection,
    message: unknown,
    refusal: WireError | undefined,
  ): Promise<string | undefined> {
    const request = checkRequest(message);
    if (request instanceof WireError) return textOf(failure(idOf(message), request));
    if (request.method === "$/cancel") {
      // With an id it is answered like any unknown method: it is a notification.
      if (request.id === undefined) return cancel(connection, request);
    }
    const { id } = request;
    if (refusal !== undefined) return id === undefined ? undefined : textOf(failure(id, refusal));
    // Many may have the id null at once; none of those can be cancelled.
    const named = id !== undefined && id !== null;
    if (named && connection.running.has(id)) {
      return textOf(failure(id, invalidRequest(`id ${JSON.stringify(id)} is still running`)));
    }
    const entry = new Request(connection, id);
    if (named) connection.running.set(id, entry);
    connection.calls++;
    try {
      const response = rpc.hasMethod(request.method)
        ? await rpc.receive(request, { connection, request: entry })
        : id === undefined
          ? null
          : failure(id, methodNotFound(request.method));
      return response === null ? undefined : textOf(response);
    } finally {
      connection.calls--;
      if (named) connection.running.delete(id);
    }
  }

  async function invoke(
    name: MethodName,
    { id, params: rawParams }: JSONRPCRequest,
    { connection, request }: Call,
  ): Promise<JSONRPCResponse | null> {
    const method = methods[name];
    const caller = connection.principal;
    if (name !== "initialize") {
      if (caller === undefined) throw WireError.of("NOT_INITIALIZED", "the first call must be initialize", {});
      if (!(method.roles as readonly string[]).includes(caller.role)) {
        throw WireError.of("FORBIDDEN", `${name} is not for the role ${caller.role}`, { role: caller.role });
      }
      if (parts.draining() && name !== "env/close" && name !== "env/observe") {
        throw WireError.of("SHUTTING_DOWN", "the server is shutting down", { retryAfterMs: 1000 });
      }
    }
    const params = parseParams(name, rawParams);
    const handler = handlers[name] as (params: unknown, context: unknown) => unknown;
    try {
      const result = await handler(params, { connection, request, caller });
      if (id === undefined) return null;
      return { jsonrpc: "2.0", id, result: caller === undefined ? result : disclosed(caller, result) };
    } catch (error) {
      // What an environment says about its own failure may hold what an agent must not read.
      if (caller?.role !== "agent" || !(error instanceof WireError) || error.name !== "ENV_FAULT") throw error;
      throw WireError.of("ENV_FAULT", "the environment failed; the state is as it was", {});
    }
  }

  function parse(frame: string): { message: unknown } | WireError {
    if (deeperThan(MAX_DEPTH, frame)) return invalidRequest(`nested deeper than ${MAX_DEPTH}`);
    try {
      return { message: JSON.parse(frame) as unknown };
    } catch {
      return WireError.of("PARSE_ERROR", "the frame is not JSON", {});
    }
  }

  function toWireError(error: unknown): WireError {
    if (error instanceof WireError) return error;
    log.error({ err: error }, "a call failed without a name");
    return WireError.of("INTERNAL_ERROR", "the server failed; its log says more", {});
  }

  function failure(id: RequestId, error: WireError): JSONRPCErrorResponse {
    metrics.error(error.name);
    return { jsonrpc: "2.0", id, error: error.toObject() };
  }

  function textOf(response: JSONRPCResponse): string {
    const { id, result } = response as { id: RequestId; result?: unknown };
    if (result instanceof JsonText) return `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":${result.text}}`;
    const text = JSON.stringify(response);
    const bytes = sizeBeyond(maxMessageBytes, text);
    return bytes === undefined ? text : JSON.stringify(failure(id, tooLarge(bytes, maxMessageBytes)));
  }

  function noRoom(): WireError {
    const message = "the batch's replies are too large together; what was committed is answered again to the same seq";
    return WireError.of("MESSAGE_TOO_LARGE", message, { limit: batchFactor * maxMessageBytes });
  }
}

function tooLarge(bytes: number, limit: number): WireError {
  return WireError.of("MESSAGE_TOO_LARGE", `a message of ${bytes} bytes; ${limit} are allowed`, { limit });
}

/** The bytes of a text that has more of them than `limit`. */
function sizeBeyond(limit: number, text: string): number | undefined {
  // No UTF-16 unit takes more than three bytes.
  if (text.length * 3 <= limit) return undefined;
  const bytes = Buffer.byteLength(text);
  return bytes > limit ? bytes : undefined;
}

function parseParams(name: MethodName, raw: unknown): unknown {
  if (Array.isArray(raw)) throw invalidParams(name, [{ path: "", message: "params are given by name, as an object" }]);
  try {
    const parsed = methods[name].params.safeParse(decode((raw ?? {}) as Json));
    if (parsed.success) return parsed.data;
    throw invalidParams(name, issuesOf(parsed.error));
  } catch (error) {
    if (!(error instanceof ValueError)) throw error;
    throw invalidParams(name, [{ path: error.path, message: error.problem }]);
  }
}

function invalidParams(name: string, issues: { path: string; message: string }[]): WireError {
  return WireError.of("INVALID_PARAMS", `${name}: ${describe(issues)}`, { issues });
}

/** The message as a request, or what is wrong with it. */
function checkRequest(message: unknown): JSONRPCRequest | WireError {
  if (typeof message !== "object" || message === null || Array.isArray(message)) {
    return invalidRequest("a request is an object");
  }
  const { jsonrpc, method, params, id, result, error } = message as { [key: string]: unknown };
  if (jsonrpc !== "2.0") return invalidRequest('"jsonrpc" must be "2.0"');
  if (typeof method !== "string") return invalidRequest('"method" must be a string');
  if (result !== undefined || error !== undefined)
    return invalidRequest("it has a result or an error, as a response has");
  if (!isId(id)) return invalidRequest('"id" must be a string, a number or null');
  if (params !== undefined && (typeof params !== "object" || params === null)) {
    return invalidRequest('"params" must be an object');
  }
  return message as JSONRPCRequest;
}

function isId(id: unknown): id is RequestId | undefined {
  if (typeof id === "number") return Math.abs(id) <= Number.MAX_SAFE_INTEGER;
  return id === undefined || id === null || (typeof id === "string" && id.length <= 256);
}

/** JSON-RPC: the id of a bad request where it can be told, else null. A response's id belongs to somebody else. */
function idOf(message: unknown): RequestId {
  if (typeof message !== "object" || message === null || Array.isArray(message)) return null;
  const { id, method } = message as { id?: unknown; method?: unknown };
  return method !== undefined && id !== undefined && isId(id) ? (id ?? null) : null;
}

function cancel(connection: Connection, request: JSONRPCRequest): undefined {
  const { id } = (request.params ?? {}) as { id?: RequestId };
  if (id !== undefined) connection.running.get(id)?.onCancel?.();
}

function invalidRequest(problem: string): WireError {
  return WireError.of("INVALID_REQUEST", `not a JSON-RPC 2.0 request: ${problem}`, {});
}

function methodNotFound(method: string): WireError {
  const suggestions = closest(method, Object.keys(methods));
  const hint = suggestions.length > 0 ? `; did you mean "${suggestions[0]}"?` : "";
  return WireError.of("METHOD_NOT_FOUND", `there is no method "${method.slice(0, 100)}"${hint}`, { suggestions });
}
