import { connect } from "trailgym/client";
import { createLog, createRegistry, createServer } from "trailgym/server";
import countdown from "../../../envs/countdown/countdown.env.ts";
import { clientContract, type Given, waitEnv } from "../../contracts/client.ts";
import { proxy } from "./proxy.ts";
import { WebSocket } from "ws";

async function start(options: Parameters<typeof connect>[1]): Promise<Given> {
  const server = await createServer({
    registry: await createRegistry([countdown, waitEnv]),
    config: { port: 0, graceMs: 0 },
    log: createLog("silent"),
    interpreters: {
      interpreter: () => {
        throw new Error("these environments need none");
      },
      [Symbol.asyncDispose]: () => Promise.resolve(),
    },
  });
  const network = await proxy(server.url);
  const reconnect = { minDelayMs: 2, maxDelayMs: 20, maxAttempts: 100 };
  const client = await connect(network.url, { reconnect, ...options });
  const others: AsyncDisposable[] = [];
  return {
    client,
    async another() {
      const other = await connect(server.url);
      others.push(other);
      return other;
    },
    cut: () => network.cut(),
    deafen: () => network.deafen(),
    sessions: () => server.sessions,
    async [Symbol.asyncDispose]() {
      await client.close();
      for (const other of others) await other[Symbol.asyncDispose]();
      await network[Symbol.asyncDispose]();
      await server.close();
    },
  };
}

clientContract("the TypeScript client on the platform's WebSocket", () => start({}));
clientContract("the TypeScript client on ws", () => start({ WebSocket }));
