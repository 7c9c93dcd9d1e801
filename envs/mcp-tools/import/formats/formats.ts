/** Which formats can be imported? */

import type { Format } from "../draft.ts";
import { atif } from "./atif.ts";
import { bfcl } from "./bfcl.ts";
import { livemcp, openaiMessages } from "./messages.ts";
import { traject } from "./traject.ts";
import { trajectories } from "./trajectories.ts";

export const formatNames = ["traject-bench", "bfcl", "livemcp", "atif", "openai-messages", "trajectories"] as const;
export type FormatName = (typeof formatNames)[number];

/** A reader for one import: some remember what they have read. */
export const formats: Record<FormatName, () => Format> = {
  "traject-bench": () => traject,
  bfcl,
  livemcp: () => livemcp,
  atif: () => atif,
  "openai-messages": () => openaiMessages,
  trajectories: () => trajectories,
};
