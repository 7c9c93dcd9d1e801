/** What is one call, and what may be done with it when the socket is lost before its answer? */

import { type Method, methods, type MethodName } from "trailgym/protocol";
import type { Progress } from "./incoming.ts";

/**
 * - `read`: changes nothing, or the same answer comes again (`env/close`): sent again freely.
 * - `seq`: mutating, with the same `seq`: sent again, and the server gives the stored reply if it was committed.
 * - `once`: never sent again after it was written: the server might execute it twice.
 * - `link`: belongs to one socket (`initialize`, re-attaching, a heartbeat) and ends with it.
 */
export type Delivery = "read" | "seq" | "once" | "link";

/** Calls that go out in one frame. Open until it is sent. */
export interface Batch {
  open: boolean;
  readonly calls: Call[];
}

export interface Call {
  readonly id: number;
  readonly method: string;
  /** The request as it is written, byte for byte the same each time. */
  readonly text: string;
  readonly bytes: number;
  readonly delivery: Delivery;
  readonly batch: Batch | undefined;
  readonly onProgress: (progress: Progress) => void;
  /** Written to the present socket. */
  written: boolean;
  /** Written to any socket, ever: the server may know of it. */
  everWritten: boolean;
  /** `$/cancel` was asked for; it is sent again when the call is. */
  cancelled: boolean;
  /** The caller no longer waits; the answer still decides what the session's next `seq` is. */
  abandoned: boolean;
  /** Why it ended without an answer. */
  failure: { readonly reason: unknown } | undefined;
}

const sequenced: ReadonlySet<string> = new Set<MethodName>(["env/reset", "env/step", "env/restore"]);

/** A method this version does not know is `once`, the careful choice. */
export function deliveryOf(method: string, params: object): Delivery {
  if (isRead(method)) return "read";
  return sequenced.has(method) && "seq" in params && params.seq !== undefined ? "seq" : "once";
}

/** What an observer may call changes nothing. */
function isRead(method: string): boolean {
  const known: Readonly<Record<string, Method>> = methods;
  return method === "env/close" || (Object.hasOwn(known, method) && known[method]?.roles.includes("observer") === true);
}

/** Of the UTF-8 that goes out. `text` comes from JSON.stringify, which leaves no lone surrogate. */
export function byteLength(text: string): number {
  let bytes = text.length;
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i);
    if (unit < 0x80) continue;
    // Each half of a surrogate pair stands for two of its four bytes.
    bytes += unit < 0x800 || (unit >= 0xd800 && unit <= 0xdfff) ? 1 : 2;
  }
  return bytes;
}
