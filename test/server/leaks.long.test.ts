import { test } from "vitest";
import { expectNothingLeft } from "../resources/leaks/expect.ts";

test("2,000 sessions ended in every way leave no process, thread, handle, file or memory behind", () =>
  expectNothingLeft(200, 2000));
