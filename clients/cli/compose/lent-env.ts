/** An environment's file as a thread loads it: with this package lent first. The file is named in this module's query. */

import { discover } from "trailgym/env";
import { lendPackage } from "./lend-package.ts";

lendPackage();
const file = new URL(import.meta.url).searchParams.get("file") as string;
const { found, problems } = await discover([file]);
if (problems[0] !== undefined) throw problems[0];

export default found[0]?.definition;
