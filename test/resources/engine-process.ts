/** The process behind engines.ts. */

import type { Reply, RequestHead } from "../../server/sandboxes/messages.ts";
import { type Engine, guard, serve } from "../../server/sandboxes/serve.ts";
import { IsolateEngine } from "../../server/sandboxes/isolate/engine.ts";

class Engines implements Engine {
  readonly #old = new IsolateEngine();
  readonly #new = new IsolateEngine();
  #calls = 0;

  call(head: RequestHead & { anew?: boolean }, args: Buffer, state: Buffer | undefined): Reply {
    // A key of its own means an isolate of its own: nothing of an earlier call is in it.
    if (head.anew) return this.#new.call({ ...head, key: `${head.key} ${this.#calls++}` }, args, state);
    const first = this.#old.call(head, args, state);
    const again = first.head.status === "again";
    const reply = again ? this.#old.call({ ...head, fresh: true }, args, state) : first;
    this.#old.rest();
    return { ...reply, head: { ...reply.head, ...{ test: { again, shares: this.#old.shares(head.key) } } } };
  }
}

const watch = guard();
await watch.started;
serve(new Engines(), watch);
