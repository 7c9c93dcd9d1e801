/** What went wrong on this side of the wire? What the server answered is a `WireError` of `trailgym/protocol` instead. */

/** Stable; switch on it where `instanceof` does not reach (two copies of this package, another realm). */
export type ClientErrorCode =
  | "CONNECTION_LOST"
  | "CLOSED"
  | "PROTOCOL_VIOLATION"
  | "SESSION_BUSY"
  | "LATE_COMMIT"
  | "DEADLINE_PASSED"
  | "REQUEST_TOO_LARGE"
  | "WRONG_ROLE";

/** The root of every error that this client makes itself. Never crosses the wire. */
export class ClientError extends Error {
  readonly code: ClientErrorCode;
  constructor(code: ClientErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = new.target.name;
    this.code = code;
  }
}

/**
 * The socket was lost and this call cannot be sent again (`env/make`, `env/fork`, `env/snapshot`), or the client gave up
 * reconnecting. Whether the server executed the call is unknown.
 */
export class ConnectionLost extends ClientError {
  constructor(message: string, options?: ErrorOptions) {
    super("CONNECTION_LOST", message, options);
  }
}

/** The client or the session was closed by this side before the call was answered, or before it was made. */
export class ClosedError extends ClientError {
  constructor(what: "client" | "session") {
    super("CLOSED", `the ${what} is closed`);
  }
}

/** The peer sent what the protocol does not allow. `received` is the offending piece, shortened. */
export class ProtocolViolation extends ClientError {
  readonly received: string;
  constructor(problem: string, received: unknown, options?: ErrorOptions) {
    const text = typeof received === "string" ? received : (JSON.stringify(received) ?? String(received));
    const short = text.length > 200 ? `${text.slice(0, 200)}…` : text;
    super("PROTOCOL_VIOLATION", `${problem}: ${short}`, options);
    this.received = short;
  }
}

/** A reset, step or restore while another of the same session is under way. Nothing was sent; the session is as it was. */
export class SessionBusy extends ClientError {
  constructor(session: string, method: string) {
    super("SESSION_BUSY", `${method}: session ${session} has not answered its last call yet; await that one first`);
  }
}

/**
 * A call that the caller had let go of (`signal`, `timeoutMs`) was committed after all. Thrown once, by the next `step`,
 * which was not sent: the state is not the one its action was chosen for. `result` is the late reply; step again to go on
 * from it. `reset` and `restore` do not depend on the state and never throw this.
 */
export class LateCommit extends ClientError {
  readonly method: string;
  readonly result: unknown;
  constructor(method: string, result: unknown) {
    super("LATE_COMMIT", `an abandoned ${method} was committed after all; look at its result before stepping on`);
    this.method = method;
    this.result = result;
  }
}

/** No answer came, not even DEADLINE, within `timeoutMs` and the grace that follows it. */
export class DeadlinePassed extends ClientError {
  readonly timeoutMs: number;
  constructor(method: string, timeoutMs: number) {
    super("DEADLINE_PASSED", `${method}: no answer after its deadline of ${timeoutMs} ms`);
    this.timeoutMs = timeoutMs;
  }
}

/** The request is larger than the server's `limits.maxMessageBytes`. It was not sent: the server would drop the socket. */
export class RequestTooLarge extends ClientError {
  readonly bytes: number;
  readonly limit: number;
  constructor(method: string, bytes: number, limit: number) {
    super("REQUEST_TOO_LARGE", `${method}: ${bytes} bytes, and the server takes ${limit}`);
    this.bytes = bytes;
    this.limit = limit;
  }
}

/** The token has another role than `connect` was told. Nothing but the handshake was said. */
export class WrongRole extends ClientError {
  readonly role: string;
  constructor(wanted: string, role: string) {
    super("WRONG_ROLE", `the token has the role ${role}, not ${wanted}`);
    this.role = role;
  }
}
