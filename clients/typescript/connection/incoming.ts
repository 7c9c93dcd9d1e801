/** What is in a frame from the server? Garbage is named, never thrown. */

import { isJSONRPCResponse, type JSONRPCResponse } from "json-rpc-2.0";

export interface Progress {
  /** 0 to 1. */
  readonly fraction?: number;
  readonly message?: string;
  /** Place in the queue of a call that waits for capacity. */
  readonly position?: number;
}

export type Incoming =
  | { readonly kind: "response"; readonly response: JSONRPCResponse }
  | { readonly kind: "progress"; readonly id: unknown; readonly progress: Progress }
  /** A notification that this version does not know: newer servers may send some. */
  | { readonly kind: "other" }
  | { readonly kind: "garbage"; readonly problem: string; readonly received: unknown };

export function incoming(data: unknown): Incoming[] {
  if (typeof data !== "string") return [garbage("a binary frame", "(binary)")];
  let message: unknown;
  try {
    message = JSON.parse(data);
  } catch {
    return [garbage("a frame that is not JSON", data)];
  }
  if (!Array.isArray(message)) return [classify(message)];
  return message.length === 0 ? [garbage("an empty batch", data)] : message.map(classify);
}

function classify(message: unknown): Incoming {
  if (typeof message !== "object" || message === null) return garbage("a message that is not an object", message);
  if (isJSONRPCResponse(message)) {
    const both = "result" in message && "error" in message && message.error !== null;
    return both ? garbage("a response with both result and error", message) : { kind: "response", response: message };
  }
  const { method, params, id } = message as { method?: unknown; params?: unknown; id?: unknown };
  if (typeof method !== "string" || id !== undefined) return garbage("neither a response nor a notification", message);
  if (method !== "$/progress" || typeof params !== "object" || params === null) return { kind: "other" };
  return { kind: "progress", id: (params as { id?: unknown }).id, progress: params };
}

function garbage(problem: string, received: unknown): Incoming {
  return { kind: "garbage", problem, received };
}
