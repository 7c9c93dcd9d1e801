/** The process that keeps a snapshot for those to come. It runs no program, and so it may write a file. */

import { makeSnapshot } from "./host.ts";
import { writeSnapshot } from "./snapshot.ts";

writeSnapshot(process.argv[2]!, await makeSnapshot());
process.exit();
