/** A server under test on a free loopback port, which takes everything that it opened down with it. */

import { type AnyEnv, SandboxUnavailable } from "trailgym/env";
import {
  createLog,
  createRegistry,
  createServer,
  type Journal,
  type Server,
  type ServerConfig,
  type ServerParts,
} from "trailgym/server";
import { Wire, type WireOptions } from "./wire.ts";

export interface ServerOptions {
  envs: readonly AnyEnv[];
  config?: Partial<ServerConfig>;
  journal?: Journal;
  log?: ServerParts["log"];
  tracer?: ServerParts["tracer"];
  now?: () => number;
  wallNow?: () => number;
}

export interface TestServer extends AsyncDisposable {
  readonly server: Server;
  readonly url: string;
  /** `http://host:port` */
  readonly http: string;
  readonly port: number;
  /** A new socket; closed with the server when the test did not. */
  wire(options?: WireOptions): Promise<Wire>;
}

export async function serverResource({
  envs,
  config,
  journal,
  log,
  tracer,
  now,
  wallNow,
}: ServerOptions): Promise<TestServer> {
  const server = await createServer({
    registry: await createRegistry(envs),
    config: { port: 0, graceMs: 50, ...config },
    interpreters: noInterpreters(),
    log: log ?? createLog("silent"),
    tracer,
    ...(journal === undefined ? {} : { journal }),
    ...(now === undefined ? {} : { now }),
    ...(wallNow === undefined ? {} : { wallNow }),
  });
  const wires: Wire[] = [];
  const { host, port } = new URL(server.url);
  return {
    server,
    url: server.url,
    http: `http://${host}`,
    port: Number(port),
    async wire(options) {
      const wire = await Wire.open(server.url, options);
      wires.push(wire);
      return wire;
    },
    async [Symbol.asyncDispose]() {
      for (const wire of wires) wire.socket.terminate();
      await server.close();
    },
  };
}

function noInterpreters() {
  return {
    interpreter: (language: string): never => {
      throw new SandboxUnavailable(`interpreter:${language}`, "this test lends none");
    },
    [Symbol.asyncDispose]: () => Promise.resolve(),
  };
}
