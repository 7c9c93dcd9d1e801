/** Every error that crosses the wire: its code, its name, what it carries, and when it is sent. */

import { z } from "zod";

const none = z.looseObject({});
const suggestions = z.looseObject({ suggestions: z.array(z.string()) });
const expected = z.looseObject({ expected: z.int() });
const retryAfter = { retryAfterMs: z.int() };

interface ErrorEntry {
  /** Outside the range that JSON-RPC 2.0 reserves, except for JSON-RPC's own five. */
  code: number;
  /** Whether the same call may succeed later, unchanged. */
  retryable: boolean;
  /** What `error.data` holds beside `name` and `retryable`. */
  fields: z.ZodType;
  when: string;
}

export const errorTable = {
  PARSE_ERROR: { code: -32700, retryable: false, fields: none, when: "The frame is not JSON." },
  INVALID_REQUEST: { code: -32600, retryable: false, fields: none, when: "The JSON is not a JSON-RPC 2.0 request." },
  METHOD_NOT_FOUND: { code: -32601, retryable: false, fields: suggestions, when: "There is no such method." },
  INVALID_PARAMS: {
    code: -32602,
    retryable: false,
    fields: z.looseObject({ issues: z.array(z.looseObject({ path: z.string(), message: z.string() })) }),
    when: "The params do not have the method's shape; unknown keys are named.",
  },
  INTERNAL_ERROR: {
    code: -32603,
    retryable: true,
    fields: none,
    when: "The server failed in a way it has no name for.",
  },
  NOT_INITIALIZED: { code: 1001, retryable: false, fields: none, when: "A call came before `initialize`." },
  UNSUPPORTED_VERSION: {
    code: 1002,
    retryable: false,
    fields: z.looseObject({ supported: z.array(z.string()) }),
    when: "Client and server share no protocol version.",
  },
  UNAUTHENTICATED: { code: 1003, retryable: false, fields: none, when: "The token is missing or wrong." },
  FORBIDDEN: {
    code: 1004,
    retryable: false,
    fields: z.looseObject({ role: z.string() }),
    when: "The role may not call this, or the session is another principal's.",
  },
  UNKNOWN_ENV: { code: 1101, retryable: false, fields: suggestions, when: "No environment has this id." },
  UNKNOWN_TASK: {
    code: 1102,
    retryable: false,
    fields: suggestions,
    when: "The environment has no such task or split.",
  },
  UNKNOWN_SESSION: {
    code: 1103,
    retryable: false,
    fields: z.looseObject({ reason: z.enum(["unknown", "closed", "expired"]) }),
    when: "The session never existed, was closed, or its lease ran out.",
  },
  UNKNOWN_SNAPSHOT: { code: 1104, retryable: false, fields: none, when: "No snapshot has this name." },
  RESET_NEEDED: { code: 1201, retryable: false, fields: none, when: "A step before reset or after the episode's end." },
  INVALID_ACTION: {
    code: 1202,
    retryable: false,
    fields: z.looseObject({ issues: z.array(z.looseObject({ path: z.string(), message: z.string() })) }),
    when: "The action is not in the environment's action schema. The episode goes on; nothing is consumed.",
  },
  SEQ_CONFLICT: {
    code: 1203,
    retryable: false,
    fields: expected,
    when: "This seq was committed by, or is running, another call.",
  },
  SEQ_GAP: { code: 1204, retryable: false, fields: expected, when: "This seq lies beyond the next: a call was lost." },
  SESSION_BUSY: {
    code: 1205,
    retryable: true,
    fields: expected,
    when: "Another call of this session is still running.",
  },
  CAPACITY: {
    code: 1301,
    retryable: true,
    fields: z.looseObject(retryAfter),
    when: "The server is full, or its journal cannot be written: nothing was committed.",
  },
  QUOTA: {
    code: 1302,
    retryable: true,
    fields: z.looseObject({ ...retryAfter, limit: z.number() }),
    when: "This principal has used up its share.",
  },
  MESSAGE_TOO_LARGE: {
    code: 1303,
    retryable: false,
    fields: z.looseObject({ limit: z.int() }),
    when: "The request or its reply is larger than `limits.maxMessageBytes`. The socket stays open.",
  },
  DEADLINE: {
    code: 1401,
    retryable: true,
    fields: z.looseObject({ timeoutMs: z.number() }),
    when: "The trial was killed at its deadline; the state is as it was.",
  },
  CANCELLED: { code: 1402, retryable: true, fields: none, when: "`$/cancel` or a closed session ended the call." },
  ENV_FAULT: {
    code: 1501,
    retryable: false,
    fields: none,
    when: "The environment threw or broke its own schema; the state is as it was.",
  },
  SANDBOX_LOST: {
    code: 1502,
    retryable: true,
    fields: z.looseObject({ snapshot: z.string().optional() }),
    when: "The sandbox died; the last committed value stands.",
  },
  SANDBOX_UNAVAILABLE: {
    code: 1503,
    retryable: true,
    fields: z.looseObject({ need: z.string() }),
    when: "No backend can run what the environment needs; the message says what to install.",
  },
  SHUTTING_DOWN: { code: 1504, retryable: true, fields: z.looseObject(retryAfter), when: "The server is draining." },
} as const satisfies Record<string, ErrorEntry>;

export type ErrorName = keyof typeof errorTable;
export type ErrorFields<N extends ErrorName> = z.input<(typeof errorTable)[N]["fields"]>;

/** The `error` member of a JSON-RPC response. Clients switch on `data.name`. */
export const errorObject = z.looseObject({
  code: z.int(),
  message: z.string(),
  data: z.looseObject({ name: z.string(), retryable: z.boolean() }).optional(),
});
export type ErrorObject = z.infer<typeof errorObject>;

/** An error that crosses the wire. Thrown by the server's layers, and again by the client with the same fields. */
export class WireError extends Error {
  /** The key of {@link errorTable}, or the raw name when a newer server sent one that this version does not know. */
  override readonly name: ErrorName | (string & {});
  readonly code: number;
  readonly retryable: boolean;
  readonly data: Record<string, unknown>;

  private constructor(name: string, code: number, retryable: boolean, message: string, data: Record<string, unknown>) {
    super(message);
    this.name = name;
    this.code = code;
    this.retryable = retryable;
    this.data = data;
  }

  static of<N extends ErrorName>(name: N, message: string, fields: ErrorFields<N>): WireError {
    const { code, retryable } = errorTable[name];
    return new WireError(name, code, retryable, message, { ...(fields as object) });
  }

  static fromObject(error: ErrorObject): WireError {
    const { name, retryable, ...fields } = error.data ?? { name: nameOf(error.code), retryable: false };
    return new WireError(name, error.code, retryable, error.message, fields);
  }

  toObject(): ErrorObject {
    return {
      code: this.code,
      message: this.message,
      data: { ...this.data, name: this.name, retryable: this.retryable },
    };
  }
}

function nameOf(code: number): string {
  const found = Object.entries(errorTable).find(([, entry]) => entry.code === code);
  return found?.[0] ?? "INTERNAL_ERROR";
}
