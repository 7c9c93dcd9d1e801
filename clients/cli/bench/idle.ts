/** Keeps sessions connected, each reset and stepped once, a socket each, until its input ends. Run as a process of its own. */

import { once } from "node:events";
import { connect } from "trailgym/client";

const plan = JSON.parse(process.argv[2] ?? "{}") as { url: string; sessions: number };

const atOnce = 64;
let opened = 0;
await Promise.all(Array.from({ length: atOnce }, openSome));
process.stdout.write(`${JSON.stringify({ opened })}\n`);
process.stdin.resume();
await once(process.stdin, "end");
process.exit(0);

async function openSome(): Promise<void> {
  while (opened < plan.sessions) {
    const seed = opened++;
    const client = await connect(plan.url);
    const session = await client.make("countdown-v1");
    await session.reset({ seed });
    await session.step({ amount: 1 });
  }
}
