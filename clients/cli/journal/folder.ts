/** Where does a server keep its sessions when nobody says where? In the place that the system has for a person's data. */

import { homedir } from "node:os";
import { join } from "node:path";

/** One for each port: two servers of one person do not get in each other's way, and each finds its own again. */
export function defaultFolder(port: number): string {
  return join(base(), "trailgym", String(port));
}

function base(): string {
  const { XDG_DATA_HOME, LOCALAPPDATA } = process.env;
  switch (process.platform) {
    case "darwin":
      return join(homedir(), "Library", "Application Support");
    case "win32":
      return LOCALAPPDATA ?? join(homedir(), "AppData", "Local");
    default:
      // The specification says that a relative one is to be ignored.
      return XDG_DATA_HOME?.startsWith("/") === true ? XDG_DATA_HOME : join(homedir(), ".local", "share");
  }
}
