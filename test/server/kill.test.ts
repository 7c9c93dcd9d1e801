/** The short form of `npm run chaos`. */

import { expect, test } from "vitest";
import { chaos } from "../resources/chaos.ts";
import { folders } from "../resources/folder.ts";

const folder = folders("kill");

test("a server that is killed at any moment, and sockets that break, lose, double and swap no step", async () => {
  const plan = { sessions: 16, episodes: 48, steps: 6, kills: 3, sockets: 4, seed: 1 };
  const { restarts, cuts, steps, ...report } = await chaos({ ...plan, data: folder() });
  expect(report).toEqual({ episodes: 48, kills: 3, differences: [], errors: [], left: [] });
  expect(restarts.length).toBe(3);
  expect(cuts).toBeGreaterThan(2);
  expect(steps).toBeGreaterThan(150);
}, 240_000);
