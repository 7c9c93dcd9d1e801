/** Which journal does a command look at? */

import { type Command, Option } from "commander";
import { defaultFolder } from "./folder.ts";
import { integer } from "../terminal/values.ts";

export interface FolderOptions {
  data?: string;
  port: number;
}

export function folderOptions(command: Command): Command {
  return command
    .addOption(
      new Option("--data <dir>", "the data folder of a server; default: the one of --port").env("TRAILGYM_DATA"),
    )
    .option("--port <n>", "of the server whose folder it is, if it was not told where", integer(1, 65_535), 7474);
}

export function folderOf({ data, port }: FolderOptions): string {
  return data ?? defaultFolder(port);
}
