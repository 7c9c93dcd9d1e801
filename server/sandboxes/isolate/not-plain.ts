/** How does a proof say that it failed? */

import type { Node } from "acorn";

export class NotPlain extends Error {
  /** @param why the end of a sentence that begins with the program */
  constructor(why: string, node?: Node) {
    // The first line of what was parsed is ours.
    super(node?.loc ? `${why} (line ${node.loc.start.line - 1})` : why);
  }
}
