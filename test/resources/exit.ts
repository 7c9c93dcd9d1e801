/** Run by a test in a process of its own: serves, leaves everything in the middle, closes, and must then end by itself. */

import { trouble } from "./envs.ts";
import { begin } from "./play.ts";
import { serverResource } from "./server.ts";

const env = trouble();
const resource = await serverResource({ envs: [env.env], config: { graceMs: 20 } });
const [polite, rude] = [await resource.wire(), await resource.wire()];
for (const wire of [polite, rude]) {
  const [hanging, waiting, idle] = [
    await begin(wire, "trouble-v1"),
    await begin(wire, "trouble-v1"),
    await begin(wire, "trouble-v1"),
  ];
  await wire.call("env/snapshot", { session: idle });
  wire.request("env/step", { session: hanging, action: { do: "hang" } }).catch(() => undefined);
  wire.request("env/step", { session: waiting, action: { do: "wait" } }).catch(() => undefined);
}
await env.entered(4);
await rude.drop();
await resource.server.close();
await polite.closed;
const left = process.getActiveResourcesInfo().filter((name) => !name.startsWith("Pipe") && !name.startsWith("TTY"));
process.stdout.write(`closed ${JSON.stringify(left)}\n`);
