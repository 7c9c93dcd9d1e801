/**
 * The load generator: keeps every session's next step under way and counts the replies. Run as a process of its own, so that
 * it does not share a core's time with what it measures more than a remote trainer would.
 */

import { WebSocket } from "ws";

export interface LoadPlan {
  url: string;
  /** `echo` sends the same frames to a server that knows no sessions; `openenv` speaks its wire, one session a socket. */
  target: "echo" | "trailgym" | "openenv";
  sessions: number;
  /** Sockets that the sessions are spread over. */
  sockets: number;
  /** Requests in one frame; 1 sends them singly. */
  batch: number;
  seconds: number;
}

export interface LoadReport {
  steps: number;
  seconds: number;
  /** Milliseconds from a frame's sending to its reply. */
  p50: number;
  p99: number;
  /** Share of a core that the generator itself used: near 1 it was the limit. */
  load: number;
}

interface Session {
  id: string;
  seq: number;
  sentAt: number;
  socket: WebSocket;
}

const openEnvStep = '{"type":"step","data":{"amount":1}}';
const plan = JSON.parse(process.argv[2] ?? "{}") as LoadPlan;
const sockets = await Promise.all(Array.from({ length: plan.sockets }, () => open(plan.url)));
const sessions = await Promise.all(
  Array.from({ length: plan.sessions }, (_, i) => prepare(sockets[i % sockets.length] as WebSocket, i)),
);
const report = await run();
process.stdout.write(`${JSON.stringify(report)}\n`);
for (const socket of sockets) {
  if (plan.target === "openenv") socket.send('{"type":"close"}');
  else socket.terminate();
}

async function run(): Promise<LoadReport> {
  const latencies: number[] = [];
  const frames = Math.ceil(sessions.length / plan.batch);
  const started = performance.now();
  const until = started + plan.seconds * 1000;
  const usedBefore = process.cpuUsage();
  let steps = 0;
  let under = frames;
  return new Promise((resolve) => {
    for (const [i, socket] of sockets.entries()) socket.on("message", (data: Buffer) => receive(data.toString(), i));
    for (let frame = 0; frame < frames; frame++) send(frame);

    function send(frame: number): void {
      const now = performance.now();
      const group = sessions.slice(frame * plan.batch, (frame + 1) * plan.batch);
      const requests = group.map((session, k) => {
        session.sentAt = now;
        return plan.target === "openenv" ? openEnvStep : stepOf(session, frame * plan.batch + k);
      });
      group[0]?.socket.send(plan.batch === 1 ? (requests[0] as string) : `[${requests.join(",")}]`);
    }

    function receive(text: string, socket: number): void {
      // The first id of a frame tells which it was; a full parse would measure the generator.
      const first = plan.target === "openenv" ? socket : idOf(text);
      if (text.includes('"error"')) throw new Error(text.slice(0, 300));
      const now = performance.now();
      latencies.push(now - (sessions[first] as Session).sentAt);
      steps += Math.min(plan.batch, sessions.length - first);
      if (now < until) return send(Math.floor(first / plan.batch));
      if (--under > 0) return;
      latencies.sort((a, b) => a - b);
      const at = (q: number) => latencies[Math.min(latencies.length - 1, Math.floor(q * latencies.length))] as number;
      const { user, system } = process.cpuUsage(usedBefore);
      const load = (user + system) / 1000 / (now - started);
      resolve({ steps, seconds: (now - started) / 1000, p50: at(0.5), p99: at(0.99), load });
    }
  });
}

function idOf(text: string): number {
  const at = text.indexOf('"id":') + 5;
  return Number.parseInt(text.slice(at, at + 7), 10);
}

function stepOf(session: Session, id: number): string {
  const params = `{"session":"${session.id}","seq":${session.seq++},"action":{"amount":1}}`;
  return `{"jsonrpc":"2.0","id":${id},"method":"env/step","params":${params}}`;
}

async function prepare(socket: WebSocket, i: number): Promise<Session> {
  const session = { seq: 0, sentAt: 0, socket };
  // As long as a real id, so that the frames are as long.
  if (plan.target === "echo") return { ...session, id: `s-00000000-0000-4000-8000-${String(i).padStart(12, "0")}` };
  if (plan.target === "openenv") {
    await reply(socket, '{"type":"reset","data":{}}');
    return { ...session, id: "" };
  }
  const made = await call(socket, `make${i}`, "env/make", {
    env: "countdown-v1",
    options: { start: 1000 },
    autoreset: "sameStep",
  });
  const { session: id } = made as { session: string };
  await call(socket, `reset${i}`, "env/reset", { session: id, seq: session.seq++, seed: i });
  return { ...session, id };
}

async function open(url: string): Promise<WebSocket> {
  const socket = new WebSocket(url, { perMessageDeflate: false });
  // Each session's set-up listens for its own replies.
  socket.setMaxListeners(0);
  await new Promise((resolve, reject) => socket.once("open", resolve).once("error", reject));
  if (plan.target !== "trailgym") return socket;
  await call(socket, "hello", "initialize", { protocolVersions: ["1"], client: { name: "bench", version: "1" } });
  return socket;
}

/** The next message after `frame` was sent. */
function reply(socket: WebSocket, frame: string): Promise<string> {
  return new Promise((resolve, reject) => {
    socket.once("message", (data: Buffer) => resolve(data.toString()));
    socket.once("close", (code) => reject(new Error(`the socket closed with ${code}`)));
    socket.send(frame);
  });
}

function call(socket: WebSocket, id: string, method: string, params: object): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const listen = (data: Buffer) => {
      const reply = JSON.parse(data.toString()) as { id: string; result?: unknown; error?: { message: string } };
      if (reply.id !== id) return;
      socket.off("message", listen);
      if (reply.error) reject(new Error(reply.error.message));
      else resolve(reply.result);
    };
    socket.on("message", listen);
    socket.send(JSON.stringify({ jsonrpc: "2.0", id, method, params }));
  });
}
