/** The wire: methods, errors, values. Everything a client or server needs to speak it, and no I/O. */

export { canonical, canonicalJson } from "./canonical.ts";
export { base64, unbase64 } from "./base64.ts";
export { errorObject, errorTable, WireError, type ErrorFields, type ErrorName, type ErrorObject } from "./errors.ts";
export { roles, type Method, type Notification, type Role } from "./method.ts";
export { methods, notifications, type MethodName, type ParamsOf, type ResultOf } from "./methods/index.ts";
export type { Autoreset } from "./methods/env-make.ts";
export type { EnvEntry } from "./methods/env-list.ts";
export { openrpc } from "./openrpc.ts";
export { tool, type Status, type ToolSpec } from "./shapes.ts";
export { trajectory, transition, type Trajectory, type Transition } from "./trajectory.ts";
export { type Disclosure, disclosures, nestedResults, withheld } from "./withheld.ts";
export { decode, encode, MAX_DEPTH, NdArray, ValueError, type Dtype, type Json, type Value } from "./values.ts";
export { protocolVersions, subprotocol } from "./version.ts";
