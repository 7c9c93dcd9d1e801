/** What may a caller of `connect` choose, and what holds when nothing is chosen? */

import type { Role } from "trailgym/protocol";
import type { ProtocolViolation } from "./errors.ts";
import type { WebSocketConstructor } from "./connection/link.ts";

export interface ReconnectOptions {
  /** Attempts in a row before the client gives up and closes. An answered call starts the count again. Default 20. */
  maxAttempts: number;
  /** Wait before the first attempt; each further wait is twice as long. Half of it is random. Default 100 ms. */
  minDelayMs: number;
  /** The longest wait; also how long a socket must live for the count to start again. Default 5000 ms. */
  maxDelayMs: number;
}

/** One event per change, in the order in which they happen. */
export type StateChange =
  /** Initialised; the sessions are attached again and unanswered calls sent again. `instance` differs after a restart. */
  | { readonly state: "open"; readonly instance: string }
  /** The socket is gone. `code` is the WebSocket's close code; 1006 when there was none. */
  | { readonly state: "lost"; readonly code: number; readonly reason: string }
  /** An attempt will start in `delayMs`. `attempt` counts from 1. */
  | { readonly state: "reconnecting"; readonly attempt: number; readonly delayMs: number }
  /** The last event. `error` says why when it was not `close()`. */
  | { readonly state: "closed"; readonly error?: Error };

export interface ConnectOptions {
  /** Sent in `initialize`, which works in browsers and in Node alike. */
  token?: string;
  /** W3C `traceparent` of the trace that this client's calls belong to: in the server's log and spans. */
  traceparent?: string;
  /**
   * The role that the token must have, or `connect` throws WrongRole. With `agent` the client is typed as what an agent may
   * do and is told. Default: whatever it has.
   */
  role?: Role;
  /** Ends `connect` itself, with the signal's reason. It has no effect on the client that `connect` returned. */
  signal?: AbortSignal;
  /** How this client calls itself in the server's log. At most 256 characters. */
  name?: string;
  /** `false`: a lost socket closes the client. */
  reconnect?: false | Partial<ReconnectOptions>;
  /** Attempts of `connect` itself, for a server that is still starting; waits as `reconnect` says. Default 1. */
  connectAttempts?: number;
  /** For one attempt: upgrade and `initialize` together. Default 10 000 ms. */
  connectTimeoutMs?: number;
  /**
   * After so much silence the client asks the server something, and after as much again it takes the socket for dead and
   * reconnects. 0: never. Default 20 000 ms.
   */
  heartbeatMs?: number;
  /** How long an aborted call waits for the server to say whether it was committed. Default 2000 ms. */
  cancelGraceMs?: number;
  /** Default: the platform's own. `ws` fits too. */
  WebSocket?: WebSocketConstructor;
  /** What it throws is ignored. */
  onStateChange?: (change: StateChange) => void;
  /** The server sent what it should not have; the client has dealt with it. For logs. What it throws is ignored. */
  onViolation?: (violation: ProtocolViolation) => void;
}

export interface Settings {
  readonly url: string;
  readonly token: string | undefined;
  readonly traceparent: string | undefined;
  readonly name: string;
  readonly role: Role | undefined;
  readonly reconnect: ReconnectOptions | undefined;
  readonly connectAttempts: number;
  readonly connectTimeoutMs: number;
  readonly heartbeatMs: number;
  readonly cancelGraceMs: number;
  readonly WebSocket: WebSocketConstructor;
  readonly onStateChange: (change: StateChange) => void;
  readonly onViolation: (violation: ProtocolViolation) => void;
}

export const reconnectDefaults: ReconnectOptions = { maxAttempts: 20, minDelayMs: 100, maxDelayMs: 5000 };

export function settingsOf(url: string, options: ConnectOptions): Settings {
  return {
    url,
    token: options.token,
    traceparent: options.traceparent,
    name: options.name ?? "trailgym-typescript",
    role: options.role,
    reconnect: options.reconnect === false ? undefined : { ...reconnectDefaults, ...options.reconnect },
    connectAttempts: options.connectAttempts ?? 1,
    connectTimeoutMs: options.connectTimeoutMs ?? 10_000,
    heartbeatMs: options.heartbeatMs ?? 20_000,
    cancelGraceMs: options.cancelGraceMs ?? 2000,
    WebSocket: options.WebSocket ?? platformWebSocket(),
    onStateChange: guarded(options.onStateChange),
    onViolation: guarded(options.onViolation),
  };
}

function platformWebSocket(): WebSocketConstructor {
  const found = (globalThis as { WebSocket?: WebSocketConstructor }).WebSocket;
  if (found === undefined) throw new TypeError("this platform has no WebSocket; give `connect` one as `WebSocket`");
  return found;
}

/** A callback that throws must not take the connection, and everybody else's calls, down with it. */
export function guarded<T>(callback: ((value: T) => void) | undefined): (value: T) => void {
  return (value) => {
    try {
      callback?.(value);
    } catch {
      // Documented at each callback.
    }
  };
}
