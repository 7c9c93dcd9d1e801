#!/usr/bin/env node
/** Where the command line begins: what it compiles is kept in the system's temporary folder, and it starts sooner next time. */

import { enableCompileCache } from "node:module";

enableCompileCache();
await import("./process.ts");
