import { test } from "vitest";
import { expectNothingLeft } from "../resources/leaks/expect.ts";

test(
  "200 sessions ended in every way leave no process, thread, handle, file or memory behind",
  { timeout: 120_000 },
  () => expectNothingLeft(100, 200),
);
