/** How is any program played as an agent? JSON lines on its stdin and stdout; what fails on its side has a name. */

import { type ChildProcessByStdio, spawn } from "node:child_process";
import type { Readable, Writable } from "node:stream";
import { decode, encode, type Json, type Value, ValueError } from "trailgym/protocol";
import { Failure } from "../../terminal/failure.ts";
import { type Agent, AgentError, type Ending, type Refusal, type Seen, type Start } from "./agent.ts";
import { type Answer, Answers } from "./answers.ts";

export interface ProcessAgentOptions {
  readonly command: readonly string[];
  /** How long it may think about one action. */
  readonly timeoutMs: number;
  readonly showReward: boolean;
  /** Gets what the agent writes to stderr. */
  readonly log?: ((chunk: Buffer) => void) | undefined;
}

/** How long a process may go on after its stdin has ended, and again after SIGTERM. */
const FAREWELL_MS = 2_000;

type Child = ChildProcessByStdio<Writable, Readable, Readable>;

/** One process, started when first needed, and again after it crashed or was killed for what it did. */
export class ProcessAgent implements Agent {
  readonly #options: ProcessAgentOptions;
  #running: Running | undefined;
  #key = "";

  constructor(options: ProcessAgentOptions) {
    this.#options = options;
  }

  async reset({ key, env, task, tools, observation, agentSeed }: Start): Promise<Value> {
    this.#key = key;
    const message = {
      type: "reset",
      episode: key,
      env: env.id,
      task: task === null ? null : encode(task),
      observation: encode(observation),
      tools: [...tools],
      actionSchema: env.actionSchema,
      seed: agentSeed,
    };
    const used = this.#running?.played === true;
    try {
      return await this.#ask(message);
    } catch (error) {
      // It may play one episode and end: its exit and this reset have crossed.
      if (used && error instanceof AgentError && error.left) {
        return this.#ask(message);
      }
      throw error;
    }
  }

  step({ observation, index, reward }: Seen): Promise<Value> {
    return this.#ask({ type: "step", observation: encode(observation), index, ...this.#shown(reward) });
  }

  invalid({ message, issues }: Refusal): Promise<Value> {
    return this.#ask({ type: "invalid", message, issues });
  }

  end({ observation, terminated, truncated, reward }: Ending): void {
    this.#running?.send({
      type: "end",
      episode: this.#key,
      observation: encode(observation),
      terminated,
      truncated,
      ...this.#shown(reward),
    });
    if (this.#running) this.#running.played = true;
  }

  abandon(): void {
    this.#running?.send({ type: "end", episode: this.#key, observation: null, terminated: false, truncated: true });
  }

  /** Ends its stdin and waits; a process that stays is killed, with its children. */
  async [Symbol.asyncDispose](): Promise<void> {
    const running = this.#running;
    this.#running = undefined;
    await running?.leave(FAREWELL_MS);
  }

  #shown(reward: number): { reward?: number } {
    return this.#options.showReward ? { reward } : {};
  }

  async #ask(message: Record<string, unknown>): Promise<Value> {
    const running = (this.#running ??= await Running.start(this.#options));
    try {
      return await running.ask({ episode: this.#key, ...message }, this.#options.timeoutMs);
    } catch (error) {
      if (error instanceof AgentError && error.name === "AGENT_GAVE_UP") running.played = true;
      else {
        // Nobody knows what it would say next.
        this.#running = undefined;
        await running.kill();
      }
      throw error;
    }
  }
}

/** One process of an agent. */
class Running {
  /** It has ended an episode. */
  played = false;
  readonly #child: Child;
  readonly #answers: Answers;
  readonly #exited: Promise<void>;
  /** Its pipes are closed too, which what it has started may delay. */
  readonly #closed: Promise<void>;

  private constructor(child: Child, log: ProcessAgentOptions["log"]) {
    this.#child = child;
    this.#answers = new Answers(child.stdout);
    let last = "";
    child.stderr.on("data", (chunk: Buffer) => {
      log?.(chunk);
      last = (last + chunk.toString("utf8")).slice(-2_000);
    });
    // EPIPE: it has closed its stdin. Whether that matters is seen when it does not answer.
    child.stdin.on("error", () => undefined);
    this.#exited = new Promise((resolve) => child.on("exit", () => resolve()));
    this.#closed = new Promise((resolve) => {
      // `close`, not `exit`: what it wrote before it died is read first.
      child.on("close", (code, signal) => {
        const how = signal !== null ? `was killed by ${signal}` : `exited with ${code}`;
        const said = last.trim().split("\n").at(-1) ?? "";
        this.#answers.end({ how: said === "" ? how : `${how}: ${said}`, left: code === 0 });
        resolve();
      });
    });
  }

  /** @throws Failure when there is no such program: that is wrong for every episode. */
  static start({ command, log }: ProcessAgentOptions): Promise<Running> {
    const [file = "", ...args] = command;
    // A group of its own: a wrapper such as `npx` must not leave the program it started behind.
    const child = spawn(file, args, { stdio: ["pipe", "pipe", "pipe"], detached: process.platform !== "win32" });
    return new Promise((resolve, reject) => {
      child.once("spawn", () => resolve(new Running(child, log)));
      child.once("error", (error: NodeJS.ErrnoException) => {
        const why = error.code === "ENOENT" ? "there is no such program" : error.message;
        reject(new Failure(`the agent ${JSON.stringify(command.join(" "))} does not start: ${why}`));
      });
    });
  }

  send(message: Record<string, unknown>): void {
    if (this.#child.stdin.writable) this.#child.stdin.write(`${JSON.stringify(message)}\n`);
  }

  /** @throws AgentError */
  async ask(message: Record<string, unknown>, timeoutMs: number): Promise<Value> {
    const unasked = this.#answers.take();
    if (unasked !== undefined) throw protocol("it wrote a line that nobody had asked for", unasked);
    this.send(message);
    return actionOf(await this.#answers.next(timeoutMs), timeoutMs);
  }

  async leave(farewellMs: number): Promise<void> {
    this.#child.stdin.end();
    for (const signal of ["SIGTERM", "SIGKILL"] as const) {
      if (await within(farewellMs, this.#exited)) break;
      this.#signal(signal);
    }
    await this.kill();
  }

  /** Its group too: also what it left behind when it went by itself. */
  async kill(): Promise<void> {
    this.#signal("SIGKILL");
    this.#child.stdin.destroy();
    // A grandchild that left the group may hold the pipe open; nobody waits for that one.
    await within(FAREWELL_MS, this.#closed);
    this.#child.stdout.destroy();
    this.#child.stderr.destroy();
  }

  #signal(signal: NodeJS.Signals): void {
    const { pid } = this.#child;
    if (pid === undefined) return;
    try {
      process.kill(process.platform === "win32" ? pid : -pid, signal);
    } catch {
      // Gone already.
    }
  }
}

async function within(ms: number, event: Promise<void>): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<boolean>((resolve) => (timer = setTimeout(resolve, ms, false)));
  const came = await Promise.race([event.then(() => true), late]);
  clearTimeout(timer);
  return came;
}

function actionOf(answer: Answer, timeoutMs: number): Value {
  switch (answer.kind) {
    case "timeout":
      throw new AgentError("AGENT_TIMEOUT", `no answer within ${timeoutMs} ms`);
    case "tooLong":
      throw new AgentError("AGENT_PROTOCOL", `a line of more than ${answer.bytes} bytes`);
    case "ended":
      throw new AgentError("AGENT_CRASHED", `it ${answer.end.how}`, answer.end.left);
    case "line":
      return readLine(answer.line);
  }
}

function readLine(line: string): Value {
  let answer: unknown;
  try {
    answer = JSON.parse(line);
  } catch {
    throw protocol("not JSON (logs belong on stderr)", line);
  }
  if (typeof answer !== "object" || answer === null || Array.isArray(answer)) throw protocol("not an object", line);
  if ("action" in answer) {
    try {
      return decode(answer.action as Json);
    } catch (error) {
      if (!(error instanceof ValueError)) throw error;
      throw protocol(`the action cannot be read (${error.message})`, line);
    }
  }
  if ("error" in answer)
    throw new AgentError(
      "AGENT_GAVE_UP",
      typeof answer.error === "string" ? answer.error : JSON.stringify(answer.error),
    );
  throw protocol('neither "action" nor "error" in it', line);
}

function protocol(problem: string, line: string): AgentError {
  return new AgentError("AGENT_PROTOCOL", `${problem}: ${line.length > 200 ? `${line.slice(0, 200)}…` : line}`);
}
