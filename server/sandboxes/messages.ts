/** What do the server and an interpreter process say to each other? */

import type { InterpreterLimits } from "trailgym/env";

/** Parts of a request: this head, the arguments as JSON, the state. */
export interface RequestHead {
  /** Digest of the program, its modules and its memory limit: what the child keeps warm is filed under it. */
  key: string;
  /** Absent when the child has been sent this program before. */
  program?: readonly string[];
  modules?: Readonly<Record<string, string>>;
  entry: string;
  hasState: boolean;
  /** Share nothing with earlier calls, not even what no call can change. */
  fresh?: boolean;
  limits: InterpreterLimits;
}

/** Parts of a reply: this head, the value as JSON, the new state. The last two are empty unless the status is `ok`. */
export type ReplyHead = (
  | { status: "ok"; output: string }
  | { status: "raised"; error: { type: string; message: string; trace: string }; output: string }
  | { status: "timeout" | "outOfMemory" | "outputTooLarge" | "stateTooLarge" }
  | { status: "unencodable" | "crashed"; message: string }
  /** Not an outcome: the child has forgotten the program's text; ask again with it. */
  | { status: "unknownProgram" }
  /** Not an outcome: the call may have seen that it shares with others; ask again for a fresh one. */
  | { status: "again" }
) & {
  /** The child does not trust itself any more: replace it. */
  retire?: boolean;
};

export interface Reply {
  head: ReplyHead;
  value?: string;
  state?: Uint8Array;
}

/** The first frame of a child, sent when it can take calls. */
export const READY = "ready";

/** File descriptors of a child. The lifeline carries nothing: its end of file says that the server is gone. */
export const REQUESTS = 3;
export const REPLIES = 4;
export const LIFELINE = 5;

/** The signal with which a child ends itself when its memory passes all bounds; nothing else sends it. */
export const OUT_OF_MEMORY_SIGNAL = "SIGUSR2";

/** Words that a child's main thread writes and its watch thread reads: the number of the call, the growth that it may cause. */
export const CALL = 0;
export const GROWTH_MB = 1;
