/** How does somebody ask for a whole workflow? The same steps in many wordings, said more or less completely. */

import type { Rng } from "trailgym/env";

/**
 * easy: every step, in order. medium: without some steps that go without saying, and with something that is not to be done.
 * hard: more of both, and sometimes the goal first.
 */
export const difficulties = ["easy", "medium", "hard"] as const;
export type Difficulty = (typeof difficulties)[number];

/** How likely a step is left out that goes without saying. */
const implied: Record<Difficulty, number> = { easy: 0, medium: 0.35, hard: 0.65 };

/** How many things are named that are not to be done. */
export const asides: Record<Difficulty, number> = { easy: 0, medium: 1, hard: 2 };

export interface SpokenStep {
  /** An imperative in lower case, without a full stop. */
  clause: string;
  /** The step after it cannot be done without it, and there is nothing to choose in it. */
  goesWithoutSaying: boolean;
}

/** @param steps not empty. @param unwanted clauses of things that are not to be done. */
export function requestFor(
  steps: readonly SpokenStep[],
  difficulty: Difficulty,
  rng: Rng,
  unwanted: readonly string[] = [],
): string {
  const said = steps.filter(({ goesWithoutSaying }) => !(goesWithoutSaying && rng.float() < implied[difficulty]));
  const clauses = said.map(({ clause }) => clause);
  const goalFirst = difficulty === "hard" && clauses.length > 2 && rng.float() < 0.5;
  const body = goalFirst
    ? [goal(clauses.at(-1) as string, rng), ...told(clauses.slice(0, -1), rng)]
    : told(clauses, rng);
  for (const clause of unwanted.slice(0, asides[difficulty])) {
    body.splice(rng.int(1, body.length), 0, framed(rng.choice(refusals), clause));
  }
  return [rng.choice(openers), ...body, rng.choice(closers)].filter((part) => part !== "").join(" ");
}

function told(clauses: readonly string[], rng: Rng): string[] {
  const sentences: string[] = [];
  for (let i = 0; i < clauses.length;) {
    const isLast = (length: number) => i + length >= clauses.length && clauses.length > 1;
    const pair = i + 1 < clauses.length && rng.float() < 0.35;
    const clause = pair ? `${clauses[i]}${rng.choice(joints)}${clauses[i + 1]}` : (clauses[i] as string);
    const length = pair ? 2 : 1;
    const frames = i === 0 ? firsts : isLast(length) ? lasts : nexts;
    sentences.push(framed(rng.choice(frames), clause));
    i += length;
  }
  return sentences;
}

const goal = (clause: string, rng: Rng): string => framed(rng.choice(goals), clause);

/** "…" is the clause; a frame that begins with it begins with a capital. */
function framed(frame: string, clause: string): string {
  const sentence = frame.replace("…", () => clause);
  return sentence.charAt(0).toUpperCase() + sentence.slice(1);
}

const openers = [
  ...["", "", "", "", "Hi there.", "Good morning!", "Hello, a small job for you.", "I could use some help here."],
  ...[
    "Quick one before the meeting.",
    "My colleague is out today, so this lands on your desk.",
    "A customer is waiting.",
  ],
  ...["I am on the road and cannot do this myself.", "Nothing urgent, but it should be done today."],
  ...["We talked about this yesterday.", "Sorry for the late notice.", "Here is what I have in mind."],
];
const firsts = [
  "please ….",
  "…, please.",
  "first, ….",
  "start like this: ….",
  "could you …?",
  "…, to begin with.",
  "I need you to ….",
];
const nexts = [
  ...["then ….", "after that, ….", "next, ….", "once that is done, ….", "with that in hand, ….", "from there, …."],
  ...["when you have it, ….", "then please ….", "that done, …."],
];
const lasts = [
  "finally, ….",
  "to finish, ….",
  "the last thing is to ….",
  "at the end, ….",
  "and as a last step, ….",
  "then …, and that is it.",
];
const joints = [" and then ", ", then ", " and after that ", ", and "];
const goals = [
  "what I want in the end is that you ….",
  "the aim is to …, but there is something to do before.",
  "in the end you should …; this comes first.",
];
const refusals = [
  ...["there is no need to ….", "do not … this time.", "I will … myself.", "somebody else will …."],
  ...["you do not have to ….", "please do not … yet.", "we decided not to …."],
];
const closers = [
  "",
  "",
  "",
  "",
  "Thanks!",
  "Thank you.",
  "That would be all.",
  "No need to report back.",
  "Let me know when it is done.",
];
