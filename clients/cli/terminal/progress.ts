/** How far is it? A bar on a terminal, a line now and then everywhere else, and nothing about what is done in a moment. */

import type { Io } from "./io.ts";

export interface Progress {
  /** One more is done, or so many. @param text what is worth saying next to the count. */
  advance(text?: string, by?: number): void;
  stop(): void;
}

export interface ProgressOptions {
  /** How many were done before. */
  done?: number;
  /** What is counted is too small to be of interest, such as bytes: shares of a hundred are shown. */
  percent?: boolean;
}

/** Before that there is nothing to see. */
const QUIET_MS = 1_000;
/** A line at least this often where there is no terminal, if there is news. */
const LINE_MS = 10_000;

/** Writes to stderr. Stop it before printing. */
export async function startProgress(
  io: Io,
  label: string,
  total: number,
  { done = 0, percent = false }: ProgressOptions = {},
): Promise<Progress> {
  return io.stderr.isTTY ? bar(io, label, total, done, percent) : lines(io, label, total, done, percent);
}

async function bar(io: Io, label: string, total: number, done: number, percent: boolean): Promise<Progress> {
  const { default: cliProgress } = await import("cli-progress");
  const shown = new cliProgress.SingleBar({
    stream: io.stderr,
    format: `${label} {bar} ${percent ? "{percentage} %" : "{value}/{total}"} · {eta_formatted} left {text}`,
    barCompleteChar: "█",
    barIncompleteChar: "░",
    barsize: 24,
    hideCursor: true,
    clearOnComplete: true,
  });
  let text = "";
  const start = setTimeout(() => shown.start(total, done, { text }), QUIET_MS);
  start.unref();
  return {
    advance(news, by = 1) {
      done += by;
      if (news !== undefined) text = `· ${news}`;
      if (shown.isActive) shown.update(done, { text });
    },
    stop() {
      clearTimeout(start);
      if (shown.isActive) shown.stop();
    },
  };
}

function lines(io: Io, label: string, total: number, done: number, percent: boolean): Progress {
  const began = performance.now();
  let last = began;
  let tenth = Math.floor((10 * done) / total);
  return {
    advance(text, by = 1) {
      done += by;
      const now = performance.now();
      const reached = Math.floor((10 * done) / total);
      if (now - began < QUIET_MS || (reached === tenth && now - last < LINE_MS)) return;
      [tenth, last] = [reached, now];
      const far = percent ? `${Math.floor((100 * done) / total)} %` : `${done} of ${total}`;
      io.stderr.write(`${label}: ${far}${text === undefined ? "" : ` · ${text}`}\n`);
    },
    stop: () => undefined,
  };
}
