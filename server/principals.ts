/** Who is calling: from a bearer token to a principal and its role. */

import { createHash, timingSafeEqual } from "node:crypto";
import { type Disclosure, disclosures, type Role, WireError } from "trailgym/protocol";
import type { TokenEntry } from "./config.ts";

export interface Principal {
  /** Sessions and snapshots belong to this name. */
  readonly name: string;
  readonly role: Role;
  /** What an agent is told beyond observations; the other roles are told everything. */
  readonly discloses: readonly Disclosure[];
  /** Sessions that may be open at once under this name. Default: as many as the server takes. */
  readonly maxSessions?: number | undefined;
  /** Trials that may run at once under this name. Default: as many as the server runs. */
  readonly maxTrials?: number | undefined;
  /** Bytes of requests that may be under way under this name. Default: as many as the server takes. */
  readonly maxInFlightBytes?: number | undefined;
}

/** @throws WireError UNAUTHENTICATED. Without configured tokens everybody is the trainer `local`. */
export function authenticate(tokens: readonly TokenEntry[], token: string | undefined): Principal {
  if (tokens.length === 0) return { name: "local", role: "trainer", discloses: disclosures };
  if (token === undefined) throw WireError.of("UNAUTHENTICATED", "this server asks for a token", {});
  const digest = createHash("sha256").update(token).digest();
  let found: TokenEntry | undefined;
  // Every entry is compared, so that the time taken tells nothing about which one matched.
  for (const entry of tokens) if (timingSafeEqual(Buffer.from(entry.sha256, "hex"), digest)) found = entry;
  if (found === undefined) throw WireError.of("UNAUTHENTICATED", "this token is not known", {});
  const { principal: name, role, discloses = [], maxSessions, maxTrials, maxInFlightBytes } = found;
  return { name, role, discloses, maxSessions, maxTrials, maxInFlightBytes };
}
