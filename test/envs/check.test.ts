import path from "node:path";
import { discover } from "trailgym/env";
import { expect, test } from "vitest";
import { dataset, keepsContract } from "../contracts/env.ts";

const root = path.resolve(import.meta.dirname, "../..");
const { found, problems } = await discover(["envs"], root);

test("every environment in the repository loads, and there are some", () => {
  expect(problems).toEqual([]);
  expect(found.map(({ definition }) => definition.id)).toContain("countdown-v1");
});

for (const { file, definition } of found) {
  // A family's data are in the fixtures folder of its name.
  const family = path.basename(path.dirname(file));
  const files = await dataset(path.join(root, "fixtures", family));
  keepsContract(definition.id, definition, { ...(files ? { files: [files] } : {}), seeds: [0, 1] });
}
