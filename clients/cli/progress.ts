/** How far is it? A bar on a terminal, a line now and then everywhere else. */

import type { Io } from "./io.ts";

export interface Progress {
  /** One more is done. @param text what is worth saying next to the count. */
  advance(text?: string): void;
  stop(): void;
}

/** A line at least this often where there is no terminal, if there is news. */
const LINE_MS = 10_000;

/** Writes to stderr. Stop it before printing. @param done how many were done before. */
export async function startProgress(io: Io, label: string, total: number, done = 0): Promise<Progress> {
  return io.stderr.isTTY ? bar(io, label, total, done) : lines(io, label, total, done);
}

async function bar(io: Io, label: string, total: number, done: number): Promise<Progress> {
  const { default: cliProgress } = await import("cli-progress");
  const shown = new cliProgress.SingleBar({
    stream: io.stderr,
    format: `${label} {bar} {value}/{total} · {eta_formatted} left {text}`,
    barCompleteChar: "█",
    barIncompleteChar: "░",
    barsize: 24,
    hideCursor: true,
    clearOnComplete: true,
  });
  shown.start(total, done, { text: "" });
  return {
    advance: (text) => shown.increment(1, text === undefined ? {} : { text: `· ${text}` }),
    stop: () => shown.stop(),
  };
}

function lines(io: Io, label: string, total: number, done: number): Progress {
  let last = performance.now();
  let tenth = Math.floor((10 * done) / total);
  return {
    advance(text) {
      done++;
      const now = performance.now();
      const reached = Math.floor((10 * done) / total);
      if (reached === tenth && now - last < LINE_MS) return;
      [tenth, last] = [reached, now];
      io.stderr.write(`${label}: ${done} of ${total}${text === undefined ? "" : ` · ${text}`}\n`);
    },
    stop: () => undefined,
  };
}
