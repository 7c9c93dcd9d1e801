/** What a check has to say, and how to say it once. */

/** Every rule of `checkEnv`; a message says what is wrong and what to do about it. */
export type Rule =
  | "definition" // id, summary, maxEpisodeSteps, needs, functions
  | "json-schema" // clients cannot be told what an action, observation or option is
  | "options-defaults"
  | "tools"
  | "tasks" // the source itself: it throws, a split is empty
  | "task-pages" // list, pick, get and size disagree
  | "task-secret" // a public field looks like, or holds, what should stay hidden
  | "throws"
  | "timeout"
  | "outcome" // not the object that reset or step must return
  | "state-schema"
  | "observation-schema"
  | "action-schema"
  | "reward"
  | "codec" // a value that the wire or the journal cannot carry
  | "state-identity" // a step depends on which object its state is, not on its value
  | "keeps-state" // a step depends on the calls before it
  | "mutates-input"
  | "chance" // Math.random, a clock
  | "replay" // one seed, two episodes
  | "no-end"
  | "reference"
  | "undeclared-need"
  | "not-played"; // what could not be looked at, and what to pass so that it can

export interface Place {
  task?: string;
  seed?: number;
  /** 0 is the reset, n the n-th step. */
  step?: number;
}

export interface Finding {
  /** An `error` breaks a promise of the server; a `warning` is worth a look. */
  severity: "error" | "warning";
  rule: Rule;
  /** What is wrong and what to do. */
  message: string;
  /** Where it was first seen. */
  at?: Place;
  /** Other tasks that have the same fault, in the order they were played. */
  alsoAt?: readonly string[];
}

/** Collects findings; the same sentence about another seed or step is not news, about another task one word. */
export class Findings {
  readonly list: Finding[] = [];
  readonly #said = new Map<string, { finding: Finding; tasks: Set<string> }>();

  error(rule: Rule, message: string, at?: Place): void {
    this.#add({ severity: "error", rule, message, ...(at === undefined ? {} : { at }) });
  }

  warning(rule: Rule, message: string, at?: Place): void {
    this.#add({ severity: "warning", rule, message, ...(at === undefined ? {} : { at }) });
  }

  #add(finding: Finding): void {
    // Numbers differ from seed to seed in what is the same fault.
    const key = `${finding.rule} ${finding.message.replaceAll(/\d+/g, "#")}`;
    const { task } = finding.at ?? {};
    const said = this.#said.get(key);
    if (said === undefined) {
      this.#said.set(key, { finding, tasks: new Set(task === undefined ? [] : [task]) });
      this.list.push(finding);
    } else if (task !== undefined && !said.tasks.has(task)) {
      said.tasks.add(task);
      said.finding.alsoAt = [...(said.finding.alsoAt ?? []), task];
    }
  }
}

/** What was thrown, in one line. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
