/** What is in all pages of a listing? */

import { ProtocolViolation } from "./errors.ts";

/** @throws ProtocolViolation for a cursor that comes back: it would go on for ever. */
export async function* pages<P extends { nextCursor?: string | undefined }>(
  fetch: (cursor: string | undefined) => Promise<P>,
): AsyncGenerator<P> {
  const seen = new Set<string>();
  let cursor: string | undefined;
  do {
    const page = await fetch(cursor);
    yield page;
    cursor = page.nextCursor;
    if (cursor !== undefined && seen.has(cursor)) throw new ProtocolViolation("a listing that goes in circles", cursor);
    if (cursor !== undefined) seen.add(cursor);
  } while (cursor !== undefined);
}
