/** The few moves with which most tests begin. */

import type { ParamsOf, ResultOf } from "trailgym/protocol";
import type { Wire } from "./wire.ts";

/** A new session whose first reset (seq 0) is done. */
export async function begin(
  wire: Wire,
  env: string,
  make: Partial<ParamsOf<"env/make">> = {},
  reset: Partial<ParamsOf<"env/reset">> = {},
): Promise<string> {
  const { session } = await wire.call("env/make", { env, ...make });
  await wire.call("env/reset", { session, seq: 0, seed: 1, ...reset });
  return session;
}

export function step(
  wire: Wire,
  session: string,
  action: unknown,
  more: Partial<ParamsOf<"env/step">> = {},
): Promise<ResultOf<"env/step">> {
  return wire.call("env/step", { session, action, ...more });
}

export const add = (n = 1) => ({ do: "add", n });

/** What a client can see of a session: equal before and after a call that must change nothing. */
export function visible(wire: Wire, session: string): Promise<ResultOf<"env/observe">> {
  return wire.call("env/observe", { session });
}
