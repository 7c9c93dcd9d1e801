/** Plays one episode as a server would, and plays it again in the ways that must make no difference. */

import { decode, encode, type Json, type ToolSpec } from "trailgym/protocol";
import { issues } from "./definition.ts";
import { messageOf } from "./finding.ts";
import { commit, type Committed } from "./outcome.ts";
import { placeOf, type Stage, type Start } from "./stage.ts";

export interface View {
  state: unknown;
  observation: unknown;
  tools: readonly ToolSpec[];
  /** Steps taken so far. */
  index: number;
}

/** The next action; undefined when there is none. */
export type Player = (view: View) => Promise<{ action: unknown } | undefined>;

interface Step {
  action: Json;
  after: Committed;
}

export interface Episode {
  start: Start;
  reset: Committed;
  steps: readonly Step[];
  /** `ended`: by the task or by maxEpisodeSteps. `stopped`: the player had no action. `capped`: `maxSteps` were taken. */
  end: "ended" | "stopped" | "capped" | "failed";
  episodeReturn: number;
}

export async function play(stage: Stage, start: Start, player: Player, maxSteps: number): Promise<Episode | undefined> {
  const { maxEpisodeSteps = Infinity } = stage.definition;
  const reset = await tryReset(stage, start);
  if (reset === undefined) return undefined;
  const steps: Step[] = [];
  let now = reset;
  let episodeReturn = 0;
  const result = (end: Episode["end"]): Episode => ({ start, reset, steps, end, episodeReturn });
  while (!now.ended && steps.length < maxEpisodeSteps) {
    if (steps.length >= maxSteps) return result("capped");
    const tools = reset.tools ?? stage.definition.tools ?? [];
    const chosen = await player({ state: now.state, observation: now.observation, tools, index: steps.length });
    if (chosen === undefined) return result("stopped");
    const action = wire(stage, start, steps.length + 1, chosen.action);
    const after = action && (await tryStep(stage, start, steps.length + 1, now.state, action.json));
    if (!action || !after) return result("failed");
    steps.push({ action: action.json, after });
    episodeReturn += after.reward;
    now = after;
  }
  return result("ended");
}

/** The action as a client would send it. */
function wire(stage: Stage, start: Start, index: number, action: unknown): { json: Json } | undefined {
  try {
    return { json: JSON.parse(JSON.stringify(encode(action, "action"))) as Json };
  } catch (error) {
    stage.findings.error("codec", `an action cannot cross the wire: ${messageOf(error)}`, placeOf(start, index));
    return undefined;
  }
}

async function tryReset(stage: Stage, start: Start): Promise<Committed | undefined> {
  const options: unknown = stage.definition.options.parse({});
  const done = await stage.call("reset", start, 0, { options }, (ctx) => stage.definition.reset(ctx, options));
  return done && commit(stage.definition, done.value, stage.findings, placeOf(start, 0));
}

async function tryStep(
  stage: Stage,
  start: Start,
  index: number,
  state: unknown,
  json: Json,
): Promise<Committed | undefined> {
  const at = placeOf(start, index);
  const parsed = stage.definition.action.safeParse(decode(json));
  if (!parsed.success) {
    stage.findings.error("action-schema", `the action is not what its schema says (${issues(parsed.error)})`, at);
    return undefined;
  }
  const action: unknown = parsed.data;
  const done = await stage.call("step", start, index, { state, action }, (ctx) =>
    stage.definition.step(ctx, state, action),
  );
  return done && commit(stage.definition, done.value, stage.findings, at);
}

/** Repeats an episode in three ways and says in which the environment is not the function that it must be. */
export async function checkReplay(stage: Stage, episode: Episode): Promise<void> {
  const { findings } = stage;
  const again = await differsForwards(stage, episode, (state) => state.state);
  if (again !== undefined) {
    const message =
      "the same seed and actions gave another episode: take chance from ctx.rng only and keep nothing between calls";
    return findings.error("replay", message, placeOf(episode.start, again));
  }
  const backwards = await differsBackwards(stage, episode);
  if (backwards === undefined) return;
  const restored = await differsForwards(stage, episode, (state) => state.restored());
  if (restored !== undefined) {
    const message =
      "a step from a restored state differs from one out of memory: put all that matters into plain fields of the state";
    return findings.error("state-identity", message, placeOf(episode.start, restored));
  }
  const message =
    "a step depends on the calls before it, not on its state alone: move what it remembers into the state";
  findings.error("keeps-state", message, placeOf(episode.start, backwards));
}

/** @returns the first step (0: the reset) whose outcome differs. */
async function differsForwards(
  stage: Stage,
  { start, reset, steps }: Episode,
  stateOf: (committed: Committed) => unknown,
): Promise<number | undefined> {
  let now = await tryReset(stage, start);
  if (now?.text !== reset.text) return 0;
  for (const [i, { action, after }] of steps.entries()) {
    now = await tryStep(stage, start, i + 1, stateOf(now), action);
    if (now?.text !== after.text) return i + 1;
  }
  return undefined;
}

/** Each step from its restored state, the last one first: nothing that a call leaves behind is of use then. */
async function differsBackwards(stage: Stage, { start, reset, steps }: Episode): Promise<number | undefined> {
  for (let i = steps.length - 1; i >= 0; i--) {
    const before = steps[i - 1]?.after ?? reset;
    const { action, after } = steps[i] as Step;
    const now = await tryStep(stage, start, i + 1, before.restored(), action);
    if (now?.text !== after.text) return i + 1;
  }
  return undefined;
}
