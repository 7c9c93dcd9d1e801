/**
 * The server's end of one in-sandbox agent. A call that lost its connection is asked again under the same number on the
 * next one: the agent runs it once and answers it as often as it is asked.
 */

import { once } from "node:events";
import { connect, type Socket } from "node:net";
import {
  type ExecEnd,
  type ExecRequest,
  type ExecResult,
  type FileEntry,
  SandboxLost,
  type Workspace,
  WorkspaceError,
} from "trailgym/env";
import { FrameReader } from "../frames.ts";
import { ask, end, op, Reader, say, status, version, Writer } from "./wire.ts";

export interface AgentOptions {
  /** Of the sandbox, for a later server to find it. */
  id: string;
  /** The agent's socket. */
  socket: string;
  /** Without a word for this long the agent ends its sandbox. */
  leaseMs: number;
  /** Resolves to the reason when the sandbox is known to be gone. Never rejects. */
  gone: Promise<string>;
}

interface Call {
  key: bigint;
  frame: Uint8Array[];
  onOutput: ((stream: 1 | 2, bytes: Uint8Array) => void) | undefined;
  resolve(reply: Buffer): void;
  reject(error: Error): void;
}

const defaults = { outputBytes: 2 ** 20, fileBytes: 16 * 2 ** 20, archiveBytes: 256 * 2 ** 20 };
const reconnectMs = 20;
/** Connections in a row that the agent may refuse or break before its sandbox counts as lost. */
const maxAttempts = 100;

export class Agent implements Workspace, Disposable {
  readonly id: string;
  readonly #options: AgentOptions;
  readonly #renewal: NodeJS.Timeout;
  #socket: Socket | undefined;
  #turn = 0;
  /** Whether somebody counts turns; else each call is one. */
  #counted = false;
  /** Calls of this turn so far. */
  #calls = 0;
  #running: Call | undefined;
  #tail: Promise<unknown> = Promise.resolve();
  #lost: SandboxLost | undefined;

  private constructor(options: AgentOptions) {
    this.id = options.id;
    this.#options = options;
    this.#renewal = setInterval(() => this.#send(new Writer().u8(ask.renew).frame()), options.leaseMs / 3);
    this.#renewal.unref();
    void options.gone.then((reason) => this.#lose(reason));
  }

  /** @throws SandboxLost when nobody answers at the socket. */
  static async attach(options: AgentOptions): Promise<Agent> {
    const agent = new Agent(options);
    try {
      await agent.#connect();
    } catch (error) {
      agent[Symbol.dispose]();
      throw error;
    }
    return agent;
  }

  async exec(
    request: ExecRequest,
    signal?: AbortSignal,
    onOutput?: (stream: 1 | 2, bytes: Uint8Array) => void,
  ): Promise<ExecResult> {
    // The command could be done before the word to kill it is there.
    if (signal?.aborted) return killed;
    const { argv, cwd = "", env = {}, stdin, timeoutMs = 0, quietMs = 0, merge = false } = request;
    const body = new Writer()
      .u32(timeoutMs)
      .u32(quietMs)
      .u32(request.outputBytes ?? defaults.outputBytes)
      .u8(merge ? 1 : 0)
      .text(cwd)
      .texts(argv)
      .texts(Object.entries(env).map(([name, value]) => `${name}=${value}`))
      .blob(stdin ?? new Uint8Array());
    const reply = await this.#call(op.exec, body, { signal, onOutput });
    const [how, code, ms] = [reply.u8(), reply.u32() | 0, reply.u32()];
    const dropped = [Number(reply.u64()), Number(reply.u64())] as const;
    const [stdout, stderr] = [reply.blob(), reply.blob()];
    return {
      end: endOf(how, code),
      ms,
      stdout: { bytes: stdout, dropped: dropped[0] },
      stderr: { bytes: stderr, dropped: dropped[1] },
    };
  }

  async read(path: string, maxBytes = defaults.fileBytes): Promise<{ bytes: Uint8Array; mode: number }> {
    const reply = await this.#call(op.read, new Writer().text(path).u64(maxBytes));
    const mode = reply.u32();
    return { bytes: reply.blob(), mode };
  }

  async write(path: string, bytes: Uint8Array, mode = 0o644): Promise<void> {
    await this.#call(op.write, new Writer().text(path).u32(mode).blob(bytes));
  }

  async list(path = "."): Promise<FileEntry[]> {
    const reply = await this.#call(op.list, new Writer().text(path));
    const types = { f: "file", d: "folder", l: "link" } as const;
    const entries = Array.from({ length: reply.u32() }, () => {
      const [name, type] = [reply.text(), String.fromCharCode(reply.u8())];
      return {
        name,
        type: types[type as keyof typeof types] ?? "other",
        mode: reply.u32(),
        bytes: Number(reply.u64()),
      };
    });
    return entries.sort((a, b) => (a.name < b.name ? -1 : 1));
  }

  async archive(maxBytes = defaults.archiveBytes): Promise<{ tar: Uint8Array; leftOut: number }> {
    const reply = await this.#call(op.archive, new Writer().u64(maxBytes));
    const leftOut = reply.u32();
    return { tar: reply.blob(), leftOut };
  }

  async restore(tar: Uint8Array): Promise<void> {
    await this.#call(op.restore, new Writer().blob(tar));
  }

  /**
   * A turn is one step of an episode: whoever begins it again (a server after a restart) and makes the same calls gets the
   * replies that there are already, and only what had not begun is done. Where nobody counts turns every call is done.
   * @param turn greater than the one before, or the same
   */
  begin(turn: number): void {
    this.#counted = true;
    this.#turn = turn;
    this.#calls = 0;
  }

  /** Ends the sandbox. Resolves when its agent has hung up. */
  async end(): Promise<void> {
    const socket = this.#socket;
    this.#lost ??= this.#lostBecause("it was ended");
    this.#send(new Writer().u8(ask.end).frame());
    if (socket !== undefined && !socket.closed) await once(socket, "close");
    this[Symbol.dispose]();
  }

  /** Lets go of the sandbox, which ends with its lease unless somebody attaches to it. */
  [Symbol.dispose](): void {
    clearInterval(this.#renewal);
    this.#lose("it was let go");
  }

  /** One at a time, in the order in which they came. */
  async #call(
    kind: number,
    body: Writer,
    { signal, onOutput }: { signal?: AbortSignal | undefined; onOutput?: Call["onOutput"] } = {},
  ): Promise<Reader> {
    const turn = this.#tail.then(() => this.#ask(kind, body, signal, onOutput));
    this.#tail = turn.catch(() => undefined);
    const reply = new Reader(await turn);
    const how = reply.u8();
    if (how === status.ok) return reply;
    if (how === status.refused) throw this.#lose(`it plays something else: ${reply.text()}`);
    throw new WorkspaceError(reply.text());
  }

  async #ask(kind: number, body: Writer, signal: AbortSignal | undefined, onOutput: Call["onOutput"]): Promise<Buffer> {
    if (this.#lost !== undefined) throw this.#lost;
    if (!this.#counted) this.#turn++;
    const request = new Writer().u8(kind).append(body);
    const key = request.digest(this.#calls++);
    const kill = () => this.#send(new Writer().u8(ask.kill).u64(key).frame());
    try {
      return await new Promise<Buffer>((resolve, reject) => {
        const frame = new Writer().u8(ask.call).u64(this.#turn).u64(key).append(request).frame();
        this.#running = { key, frame, onOutput, resolve, reject };
        this.#send(frame);
        if (signal?.aborted === true) kill();
        signal?.addEventListener("abort", kill, { once: true });
      });
    } finally {
      this.#running = undefined;
      signal?.removeEventListener("abort", kill);
    }
  }

  #send(frame: Uint8Array[]): void {
    const socket = this.#socket;
    if (socket === undefined) return;
    socket.cork();
    for (const part of frame) socket.write(part);
    socket.uncork();
  }

  async #connect(): Promise<void> {
    for (let attempt = 1; ; attempt++) {
      const socket = connect(this.#options.socket);
      // `once` rejects with the socket's error; later ones come with `close`.
      const refused = await once(socket, "connect").then(
        () => undefined,
        (error: Error) => error,
      );
      if (this.#lost !== undefined) {
        socket.destroy();
        throw this.#lost;
      }
      if (refused === undefined && (await this.#greet(socket))) return;
      socket.destroy();
      if (attempt === maxAttempts) throw this.#lose(`nobody answers: ${refused?.message ?? "the agent hung up"}`);
      await new Promise((resolve) => setTimeout(resolve, reconnectMs));
    }
  }

  /** @returns whether the agent greeted back; then the socket is this agent's. */
  async #greet(socket: Socket): Promise<boolean> {
    socket.on("error", () => undefined);
    const frames = new FrameReader();
    const greeted = Promise.withResolvers<boolean>();
    socket.on("close", () => {
      greeted.resolve(false);
      if (this.#socket !== socket) return;
      this.#socket = undefined;
      // Whoever fails here has told those who wait.
      if (this.#lost === undefined) void this.#connect().catch(() => undefined);
    });
    socket.on("data", (chunk: Buffer) => {
      for (const frame of frames.push(chunk)) this.#hear(new Reader(frame), greeted.resolve);
    });
    for (const part of new Writer().u8(ask.hello).u32(version).u32(this.#options.leaseMs).frame()) socket.write(part);
    if (!(await greeted.promise)) return false;
    this.#socket = socket;
    if (this.#running !== undefined) this.#send(this.#running.frame);
    return true;
  }

  #hear(frame: Reader, greeted: (yes: boolean) => void): void {
    const kind = frame.u8();
    if (kind === say.hello) {
      const theirs = frame.u32();
      // A server that knows of no turns goes on where the one before it stopped.
      this.#turn = Math.max(this.#turn, Number(frame.u64()));
      return greeted(theirs === version);
    }
    const key = frame.u64();
    const call = this.#running;
    if (key !== call?.key) return;
    if (kind === say.reply) return call.resolve(frame.rest());
    if (kind === say.output) call.onOutput?.(frame.u8() === 1 ? 1 : 2, frame.rest());
  }

  #lose(reason: string): SandboxLost {
    this.#lost ??= this.#lostBecause(reason);
    clearInterval(this.#renewal);
    this.#socket?.destroy();
    this.#running?.reject(this.#lost);
    return this.#lost;
  }

  #lostBecause(reason: string): SandboxLost {
    return new SandboxLost(`sandbox ${this.id} is gone: ${reason}`);
  }
}

const nothing = { bytes: new Uint8Array(), dropped: 0 };
const killed: ExecResult = { end: { kind: "killed" }, ms: 0, stdout: nothing, stderr: nothing };

function endOf(how: number, code: number): ExecEnd {
  switch (how) {
    case end.exit:
      return { kind: "exit", code };
    case end.signal:
      return { kind: "signal", signal: code };
    case end.timeout:
      return { kind: "timeout" };
    case end.quiet:
      return { kind: "quiet" };
    default:
      return { kind: "killed" };
  }
}
