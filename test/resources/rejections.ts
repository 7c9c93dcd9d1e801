/** The bad frames of fixtures/rejections: how they are written down, sent, and answered. */

import { readdirSync, readFileSync } from "node:fs";
import type { Wire } from "./wire.ts";

/** A text frame; or one whose middle is repeated; or bytes in a text or binary frame. */
export type BadFrame =
  string | { before?: string; repeat: string; times: number; after?: string } | { base64: string; binary: boolean };

export interface Rejection {
  name: string;
  /** `fresh`: before `initialize`. `ready`: after it. Default `ready`. */
  state?: "fresh" | "ready";
  send: BadFrame[];
  /** Every frame that comes back, in order; `$session` stands for the id of a session that was reset. */
  replies?: unknown[];
  /** Or the code with which the server closes the socket. */
  close?: number;
}

export interface RejectionFile {
  summary: string;
  cases: Rejection[];
}

/** What the server of these fixtures is configured with; it has countdown and `echo-v1`. */
export const rejectionLimits = { maxMessageBytes: 4096, maxBatch: 4 } as const;

const folder = new URL("../../fixtures/rejections/", import.meta.url);

export function rejections(): (RejectionFile & { file: string })[] {
  return readdirSync(folder)
    .filter((file) => file.endsWith(".json"))
    .toSorted()
    .map((file) => ({ file, ...(JSON.parse(readFileSync(new URL(file, folder), "utf8")) as RejectionFile) }));
}

export function sendBad(wire: Wire, frame: BadFrame, session: string): void {
  if (typeof frame === "string") wire.send(frame.replaceAll("$session", session));
  else if ("base64" in frame) wire.socket.send(Buffer.from(frame.base64, "base64"), { binary: frame.binary });
  else {
    const { before = "", repeat, times, after = "" } = frame;
    wire.send((before + repeat.repeat(times) + after).replaceAll("$session", session));
  }
}

/** Sends a case's frames and then a good call; what came before that call's reply is what the bad frames got. */
export async function answersTo(
  wire: Wire,
  { send }: Rejection,
  session: string,
): Promise<{ replies: unknown[] } | { close: number }> {
  const start = wire.frames.length;
  for (const frame of send) sendBad(wire, frame, session);
  const probe = wire.request("env/observe", { session }, "probe");
  const { code } = await Promise.race([wire.closed, probe.then(() => ({ code: undefined }))]);
  if (code !== undefined) return { close: code };
  const texts = wire.frames.slice(start).filter((text) => !text.includes('"id":"probe"'));
  return { replies: texts.map((text) => JSON.parse(text.replaceAll(session, "$session")) as unknown) };
}
