/** What does a format's reader make of a document, before names and schemas are put in order? */

import type { RecordedStep } from "../trajectory.ts";

/** A tool as its source describes it. */
export interface RawTool {
  /** In its own system; any text. */
  name: string;
  description?: string | undefined;
  /** Parameters in whatever dialect; see `soundSchema`. */
  schema?: unknown;
  outputSchema?: unknown;
  server?: string | undefined;
}

export interface Draft {
  /** Undefined: the place in the file names it. */
  id?: string | undefined;
  source: string;
  /** The request. */
  task: string;
  /** In the order of their calls; names are the tools' own. */
  steps: RecordedStep[];
  /** Tools that were there to be called. */
  tools: (string | RawTool)[];
  /** `tools` are all that there were: none is to be added. */
  isComplete?: boolean;
  chain?: string | undefined;
  family?: string | undefined;
  difficulty?: string | undefined;
  split?: string | undefined;
  /** Undefined: nobody said. */
  success?: boolean | undefined;
}

export interface Format {
  /** One line for a command's help. */
  readonly summary: string;
  /** A list is one document: the format has lists that are. */
  readonly whole?: boolean;
  /**
   * Called with every document of every file, in a pass before `read`, where what belongs together lies in two files.
   * @returns true when the document is only that, and `read` must not see it.
   */
  gather?(value: unknown, place: Place): boolean;
  /** @throws Error with the reason why the document is no trajectory */
  read(value: unknown, place: Place): Draft[];
}

export interface Place {
  file: string;
  line: number;
}

/** "[1] First do this.\n[2] Then that.", or the one message as it is. */
export function requestOf(messages: readonly string[]): string {
  const said = messages.map((message) => message.trim()).filter((message) => message !== "");
  return said.length === 1 ? (said[0] as string) : said.map((message, i) => `[${i + 1}] ${message}`).join("\n");
}

/** The text of a message: a text, or a list of parts of which some are texts. */
export function textIn(content: unknown): string {
  if (typeof content === "string") return content;
  if (!Array.isArray(content)) return "";
  return content
    .map((part: unknown) =>
      isObject(part) && typeof part.text === "string" ? part.text : typeof part === "string" ? part : "",
    )
    .filter((text) => text !== "")
    .join("\n");
}

/** Arguments as an object, or as a text of one. @throws Error */
export function argumentsIn(value: unknown): Record<string, unknown> {
  if (value === undefined || value === null || value === "") return {};
  const args: unknown = typeof value === "string" ? JSON.parse(value) : value;
  if (!isObject(args)) throw new Error("the arguments of a call are not an object");
  return args;
}

export const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);
