/** One WebSocket: frames to the dispatcher and replies back, within bounded memory. */

import type { IncomingMessage } from "node:http";
import type { WebSocket } from "ws";
import { Connection } from "./connection.ts";
import type { ServerConfig } from "./config.ts";
import { textFrame } from "./frame.ts";

export interface SocketParts {
  config: ServerConfig;
  dispatch: (connection: Connection, frame: string) => Promise<string | undefined>;
  now: () => number;
}

/** RFC 6455: the endpoint received data of a type it cannot accept. */
const unsupportedData = 1003;
const internalError = 1011;
/** RFC 6455: the peer does not keep to the rules. */
const policyViolation = 1008;
/** The peer reads too slowly to be served. */
const tryAgainLater = 1013;

/** Serves a socket until it closes. Its running trials go on after that. */
export function serveSocket(socket: WebSocket, request: IncomingMessage, { config, dispatch, now }: SocketParts): void {
  // The stream beneath: corked while one turn's replies gather, so that they leave in one system call.
  const stream = request.socket;
  const connection = new Connection(send, bearerOf(request));
  /** Characters of the frames that are not answered. */
  let taken = 0;
  let paused = false;
  let corked = false;
  let alive = true;
  let backlog = 0;
  /** Characters of the largest reply that may still wait for the peer. */
  let largest = 0;

  const heartbeat = setInterval(() => {
    // While the socket is not read, pongs are not either: a peer whose calls run, or who takes its replies, is alive.
    if (paused) alive ||= busy() || socket.bufferedAmount < backlog;
    // A peer that answered nothing since the last ping is gone, whatever TCP believes.
    if (!alive) return socket.terminate();
    alive = false;
    backlog = socket.bufferedAmount;
    socket.ping();
  }, config.heartbeatMs);
  heartbeat.unref();
  socket.on("pong", () => (alive = true));

  socket.on("message", (data, isBinary) => {
    alive = true;
    if (isBinary) return socket.close(unsupportedData, "text frames only");
    // `toString` of a frame that ws has checked is valid UTF-8.
    void answer((data as Buffer).toString());
    flow();
  });

  async function answer(frame: string): Promise<void> {
    taken += frame.length;
    try {
      const reply = await dispatch(connection, frame);
      if (reply !== undefined) send(reply);
    } catch {
      // Dispatch answers whatever goes wrong; what it cannot answer must not end the process.
      socket.close(internalError, "the server failed");
    } finally {
      taken -= frame.length;
      flow();
    }
  }

  // A peer that never says who it is holds a socket for nothing.
  const greeting = setTimeout(() => {
    if (connection.principal === undefined) socket.close(policyViolation, "initialize was not called in time");
  }, config.initializeMs);
  greeting.unref();

  socket.on("close", () => {
    clearInterval(heartbeat);
    clearTimeout(greeting);
    connection.release(now());
  });
  // `close` follows with the code that ws chose (1007 bad UTF-8, 1009 too big, 1002 protocol).
  socket.on("error", () => undefined);

  function send(text: string): void {
    if (socket.readyState !== socket.OPEN) return;
    // One reply may be larger than all that may wait: a peer that reads gets it, and is not closed for the next one.
    if (socket.bufferedAmount > 4 * config.maxBufferedBytes + 3 * largest) {
      return socket.close(tryAgainLater, "replies are not read");
    }
    largest = socket.bufferedAmount === 0 ? text.length : Math.max(largest, text.length);
    if (!corked) {
      corked = true;
      stream.cork();
      atEndOfTurn(uncork);
    }
    stream.write(textFrame(text), flow);
  }

  function uncork(): void {
    corked = false;
    stream.uncork();
  }

  function busy(): boolean {
    return connection.calls >= config.maxInFlight || taken > config.maxMessageBytes;
  }

  /** Stops reading while too much is under way for this peer; what it sends waits in its own buffers. */
  function flow(): void {
    const full = busy() || socket.bufferedAmount > config.maxBufferedBytes;
    if (full === paused) return;
    paused = full;
    if (full) return socket.pause();
    // What it sent meanwhile is only read now.
    alive = true;
    socket.resume();
  }
}

let waiting: (() => void)[] = [];

/** One immediate for all sockets: with one each, a thousand of them cost more than the writes. */
function atEndOfTurn(work: () => void): void {
  if (waiting.push(work) === 1) setImmediate(runWaiting);
}

function runWaiting(): void {
  const now = waiting;
  waiting = [];
  for (const work of now) work();
}

function bearerOf(request: IncomingMessage): string | undefined {
  return /^Bearer +(\S+) *$/i.exec(request.headers.authorization ?? "")?.[1];
}
