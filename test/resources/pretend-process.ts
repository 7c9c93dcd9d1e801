/** An interpreter process that interprets nothing: it does what a call's first argument says. */

import type { Reply, RequestHead } from "../../server/sandboxes/messages.ts";
import { type Engine, serve } from "../../server/sandboxes/serve.ts";

class Pretender implements Engine {
  readonly #programs = new Set<string>();

  call(head: RequestHead, args: Buffer): Reply {
    const [what, ms = 0] = JSON.parse(args.toString()) as [string, number?];
    this.#programs.add(head.key);
    switch (what) {
      case "wait":
        Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
        return done(process.pid);
      case "need a process":
        return this.#programs.size > 1 ? outOfMemory : done(process.pid);
      case "need too much":
        return outOfMemory;
      case "be fresh":
        return head.fresh ? done("fresh") : { head: { status: "again" } };
      case "never be fresh":
        return { head: { status: "again" } };
      case "forget":
        return head.program ? done("told again") : { head: { status: "unknownProgram" } };
      default:
        process.kill(process.pid, "SIGKILL");
        return done(null);
    }
  }
}

const outOfMemory: Reply = { head: { status: "outOfMemory", retire: true } };

function done(value: unknown): Reply {
  return { head: { status: "ok", output: "" }, value: JSON.stringify(value) };
}

serve(new Pretender(), { started: Promise.resolve(), limit: () => undefined });
