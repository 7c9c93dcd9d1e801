/** Does a call take chance or time from anywhere but its context? Found out by listening on the usual sources. */

type Callable = (...args: unknown[]) => unknown;

/** [the object, its key, what to call it]. Read by key, because the lint rule that keeps environments honest reads by name. */
function sources(): [Record<string, unknown>, string, string][] {
  const globals = globalThis as unknown as Record<string, Record<string, unknown>>;
  return [
    [globals.Math as Record<string, unknown>, "random", "Math.random"],
    [globals.Date as Record<string, unknown>, "now", "Date.now"],
    [globals.performance as Record<string, unknown>, "now", "performance.now"],
    [globals.crypto as Record<string, unknown>, "getRandomValues", "crypto.getRandomValues"],
    [globals.crypto as Record<string, unknown>, "randomUUID", "crypto.randomUUID"],
  ];
}

/** Hears nothing while `pause`d: lent interpreters may look at the clock, environments may not. */
export class Listener {
  readonly heard = new Set<string>();
  #paused = 0;

  hear(source: string): void {
    if (this.#paused === 0) this.heard.add(source);
  }

  async pause<T>(work: () => Promise<T>): Promise<T> {
    this.#paused++;
    try {
      return await work();
    } finally {
      this.#paused--;
    }
  }
}

let turn: Promise<unknown> = Promise.resolve();

/**
 * Runs `work` with `listener` on the sources, which are as before afterwards. One call at a time in this process: two
 * would hear each other, and put back each other's listeners.
 */
export function listening<T>(listener: Listener, work: () => T | Promise<T>): Promise<T> {
  const result = turn.then(async () => {
    const restore = listen(listener);
    try {
      return await work();
    } finally {
      restore();
    }
  });
  turn = result.catch(() => undefined);
  return result;
}

function listen(listener: Listener): () => void {
  const undo: (() => void)[] = [];
  for (const [object, key, name] of sources()) {
    const own = Object.getOwnPropertyDescriptor(object, key);
    const original = object[key] as Callable;
    const heard = (...args: unknown[]) => {
      listener.hear(name);
      return Reflect.apply(original, object, args);
    };
    Object.defineProperty(object, key, { value: heard, configurable: true, writable: true });
    undo.push(() => {
      if (own === undefined) Reflect.deleteProperty(object, key);
      else Object.defineProperty(object, key, own);
    });
  }
  undo.push(listenToDates(listener));
  return () => {
    for (const back of undo.reverse()) back();
  };
}

/** `new Date()` and `Date()` read the clock; `new Date(2020, 1)` does not. */
function listenToDates(listener: Listener): () => void {
  const Original = globalThis.Date;
  globalThis.Date = new Proxy(Original, {
    construct(target, args, newTarget: Callable) {
      if (args.length === 0) listener.hear("new Date()");
      return Reflect.construct(target, args, newTarget) as object;
    },
    apply(target) {
      listener.hear("Date()");
      return Reflect.apply(target, undefined, []);
    },
  });
  return () => {
    globalThis.Date = Original;
  };
}
