/** Plays one episode after another by hand, or the actions of a file. */

import { readFile } from "node:fs/promises";
import { createInterface } from "node:readline";
import { type Client, type ResetResult, type Session, type StepResult, WireError } from "trailgym/client";
import { type EnvEntry, encode, type ToolSpec } from "trailgym/protocol";
import { openEndpoint } from "../compose/endpoint.ts";
import { Failure, UsageError } from "../terminal/failure.ts";
import { type Io, note, print, printJson } from "../terminal/io.ts";
import type { EndpointOptions } from "../settings.ts";
import { readTyped } from "./line.ts";
import { showObservation, showTools } from "./show.ts";

export interface PlayOptions extends EndpointOptions {
  task?: string;
  split?: string;
  seed?: number;
  options?: Record<string, unknown>;
  actions?: string;
  json?: boolean;
}

export async function play(io: Io, envId: string, options: PlayOptions): Promise<void> {
  const actions = options.actions === undefined ? undefined : await readActions(options.actions);
  await using endpoint = await openEndpoint(io, options);
  const { client } = endpoint;
  await using session = await client.make(envId, { options: options.options, signal: io.signal });
  const game = new Game(io, session, options, await entryOf(client, envId));
  await game.reset();
  if (actions === undefined) {
    await game.converse();
    return;
  }
  for (const [i, action] of actions.entries()) {
    if (game.over) throw new Failure(`${options.actions}: the episode ended after ${i} of ${actions.length} actions`);
    await game.step(action);
  }
}

class Game {
  /** The episode has ended. */
  over = false;
  readonly #io: Io;
  readonly #session: Session;
  readonly #options: PlayOptions;
  readonly #entry: EnvEntry;
  #tools: readonly ToolSpec[] = [];
  #return = 0;
  /** Snapshots from before each step, the newest last. */
  #before: string[] = [];
  readonly #named = new Map<string, string>();

  constructor(io: Io, session: Session, options: PlayOptions, entry: EnvEntry) {
    this.#io = io;
    this.#session = session;
    this.#options = options;
    this.#entry = entry;
  }

  async reset(): Promise<void> {
    const { task, split, seed } = this.#options;
    const reset: ResetResult = await this.#session.reset({ task, split, seed, signal: this.#io.signal });
    this.#tools = reset.tools ?? this.#entry.tools ?? [];
    [this.#return, this.#before, this.over] = [0, [], false];
    if (this.#options.json === true) return this.#printReply({ reset });
    const which = reset.task === null ? "" : `, task ${reset.task}`;
    print(this.#io, `${this.#entry.id}${which}, seed ${reset.seed}\n\n${showObservation(reset.observation)}\n`);
    print(this.#io, this.#howTo());
  }

  async step(action: unknown): Promise<void> {
    const step: StepResult = await this.#session.step(action, { signal: this.#io.signal });
    this.#return += step.reward;
    this.over = step.terminated || step.truncated;
    if (this.#options.json === true) return this.#printReply({ action, step });
    const { observation, reward, terminated, index } = step;
    print(this.#io, showObservation(observation));
    if (reward !== 0) print(this.#io, `reward ${reward}`);
    if (!this.over) return;
    const how = terminated ? "terminated" : "truncated";
    print(this.#io, `\nThe episode was ${how} after ${index} steps, with a return of ${this.#return}.`);
  }

  async converse(): Promise<void> {
    const { stdin, stdout, signal } = this.#io;
    const terminal = stdin.isTTY && stdout.isTTY;
    const lines = createInterface({ input: stdin, terminal, ...(terminal ? { output: stdout } : {}) });
    signal.addEventListener("abort", () => lines.close(), { once: true });
    // Ctrl-C inside of readline does not become a signal by itself.
    lines.on("SIGINT", () => lines.close());
    lines.setPrompt("> ");
    if (terminal) lines.prompt();
    for await (const line of lines) {
      if ((await this.#take(line)) === "quit") break;
      if (terminal) lines.prompt();
    }
    lines.close();
    signal.throwIfAborted();
  }

  async #take(line: string): Promise<"quit" | undefined> {
    const typed = readTyped(line, this.#tools);
    try {
      switch (typed.kind) {
        case "nothing":
          return undefined;
        case "mistake":
          note(this.#io, typed.message);
          return undefined;
        case "command":
          return await this.#command(typed.name, typed.rest);
        case "action":
          await this.#undoable(typed.action);
          return undefined;
      }
    } catch (error) {
      // Said, and nothing has changed.
      if (!(error instanceof WireError)) throw error;
      note(this.#io, error.message);
      return undefined;
    }
  }

  async #undoable(action: unknown): Promise<void> {
    if (this.over) return note(this.#io, "the episode has ended: :reset plays another, :undo takes the last step back");
    const { snapshot } = await this.#session.snapshot();
    await this.step(action);
    this.#before.push(snapshot);
  }

  async #command(name: string, rest: string): Promise<"quit" | undefined> {
    switch (name) {
      case "quit":
      case "q":
        return "quit";
      case "undo": {
        const last = this.#before.at(-1);
        if (last === undefined) note(this.#io, "nothing to undo");
        else {
          await this.#restore(last);
          this.#before.pop();
        }
        return undefined;
      }
      case "snapshot": {
        const { snapshot, index, bytes } = await this.#session.snapshot();
        const label = rest === "" ? `s${this.#named.size + 1}` : rest;
        this.#named.set(label, snapshot);
        note(this.#io, `snapshot ${label}: after ${index} steps, ${bytes} bytes`);
        return undefined;
      }
      case "restore": {
        const snapshot = this.#named.get(rest);
        if (snapshot === undefined)
          note(this.#io, `there is no snapshot "${rest}"; there are: ${[...this.#named.keys()].join(" ")}`);
        else {
          await this.#restore(snapshot);
          this.#before = [];
        }
        return undefined;
      }
      case "reset":
        await this.reset();
        return undefined;
      case "tools":
        print(this.#io, showTools(this.#tools));
        return undefined;
      case "observe": {
        const { observation, index, episodeReturn, status } = await this.#session.observe();
        print(this.#io, `${showObservation(observation)}\n(${status}, ${index} steps, return ${episodeReturn})`);
        return undefined;
      }
      default:
        if (name !== "help") note(this.#io, `there is no :${name}`);
        print(this.#io, help);
        return undefined;
    }
  }

  async #restore(snapshot: string): Promise<void> {
    const { observation, index, episodeReturn, status } = await this.#session.restore(snapshot);
    this.#return = episodeReturn;
    this.over = status === "terminated" || status === "truncated";
    if (this.#options.json === true)
      return this.#printReply({ restore: { observation, index, episodeReturn, status } });
    print(this.#io, `back after ${index} steps:\n${showObservation(observation)}`);
  }

  #howTo(): string {
    if (this.#tools.length > 0)
      return `${showTools(this.#tools)}\n\nType \`tool key=value …\` or JSON; :help for more.`;
    return `Type an action as JSON or \`key=value …\`; :help for more. Its schema:\n  ${JSON.stringify(this.#entry.actionSchema)}`;
  }

  #printReply(reply: unknown): void {
    printJson(this.#io, encode(reply), 0);
  }
}

const help = `  {"json": "action"}      an action as it is
  tool key=value …        a tool call; elsewhere key=value …
  :undo                   take the last step back
  :snapshot [name]        name this state
  :restore name           go back to it
  :observe  :tools        see again where you are, and what can be called
  :reset                  another episode
  :quit                   leave (Ctrl-D)`;

async function entryOf(client: Client, id: string): Promise<EnvEntry> {
  const entry = (await client.list()).find((one) => one.id === id);
  if (entry === undefined) throw new Failure(`there is no environment "${id}"`);
  return entry;
}

async function readActions(file: string): Promise<unknown[]> {
  const text = await readFile(file, "utf8").catch((error: Error) => {
    throw new UsageError(`--actions ${file}: ${error.message}`);
  });
  return text.split("\n").flatMap((line, i) => {
    if (line.trim() === "") return [];
    try {
      return [JSON.parse(line) as unknown];
    } catch (error) {
      throw new UsageError(`${file}:${i + 1}: ${(error as Error).message}`);
    }
  });
}
