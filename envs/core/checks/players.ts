/** Who plays in a check: the environment's own reference, or somebody who knows nothing but the schema. */

import type { ToolSpec } from "trailgym/protocol";
import { z } from "zod";
import type { Reference } from "../define.ts";
import { rng, type Rng } from "../rng.ts";
import { sampleAction, sampleToolCall } from "../sample.ts";
import { messageOf } from "./finding.ts";
import type { Episode, Player } from "./play.ts";
import { placeOf, type Stage, type Start } from "./stage.ts";

/** A caller's own player, where random actions would get nowhere. */
export type Actions = (view: { observation: unknown; tools: readonly ToolSpec[]; index: number; rng: Rng }) => unknown;

/** Random values that a schema's refinements may refuse before the player gives up. */
const TRIES = 20;
/** A stream far from those of the steps, so that an action is independent of what the environment draws. */
const STREAM = 0x4000_0000;

export function randomPlayer(stage: Stage, start: Start, round: number, actions: Actions | undefined): Player {
  const { definition, findings } = stage;
  return ({ observation, tools, index }) => {
    const chance = rng(start.seed, STREAM + index).fork(round);
    const draw = actions ? () => actions({ observation, tools, index, rng: chance }) : sampler(stage, tools, chance);
    try {
      for (let tries = 0; tries < TRIES; tries++) {
        const action = draw();
        // A caller's own action is passed on as it is: that it does not fit is then a finding.
        if (actions || definition.action.safeParse(action).success) return Promise.resolve({ action });
      }
      findings.warning("not-played", "no random value fits the action schema: pass `actions`");
    } catch (error) {
      findings.warning("not-played", `no random action could be made (${messageOf(error)}): pass \`actions\``);
    }
    return Promise.resolve(undefined);
  };
}

function sampler({ definition }: Stage, tools: readonly ToolSpec[], chance: Rng): () => unknown {
  if (tools.length > 0) return () => sampleToolCall(tools, chance);
  const schema = z.toJSONSchema(definition.action, { io: "input", unrepresentable: "any" }) as Record<string, unknown>;
  return () => sampleAction(schema, chance);
}

/** @returns the player, and afterwards what is to be said about the episode that it played. */
export function referencePlayer(stage: Stage, start: Start): { player: Player; judge: (episode: Episode) => void } {
  const { definition, findings } = stage;
  let actions: readonly unknown[] | undefined;
  let promised = 1;
  const player: Player = async ({ state, index }) => {
    if (index === 0) {
      const done = await stage.call("reference", start, 0, { state }, (ctx) => definition.reference?.(ctx, state));
      const reference = done?.value as Reference<unknown> | undefined;
      if (done !== undefined) actions = actionsOf(reference);
      if (done !== undefined && actions === undefined) {
        findings.error("reference", "reference gives neither a list nor { actions, episodeReturn }", placeOf(start, 0));
      }
      if (reference !== undefined && "episodeReturn" in reference) promised = reference.episodeReturn;
    }
    return actions !== undefined && index < actions.length ? { action: actions[index] } : undefined;
  };
  const judge = ({ steps, end, episodeReturn }: Episode) => {
    if (actions === undefined || end === "failed") return;
    const at = placeOf(start, steps.length);
    if (end === "ended" && steps.length < actions.length) {
      findings.error(
        "reference",
        `the episode ends after ${steps.length} of the reference's ${actions.length} actions`,
        at,
      );
    } else if (end === "capped") {
      findings.warning("not-played", `the reference takes ${actions.length} actions: pass a larger \`maxSteps\``, at);
    } else if (!(Math.abs(episodeReturn - promised) <= 1e-9 * Math.max(1, Math.abs(promised)))) {
      findings.error(
        "reference",
        `the reference reaches a return of ${episodeReturn}, not the ${promised} that it promises`,
        at,
      );
    } else if (end === "stopped") {
      findings.warning("reference", "after the reference's last action the episode still runs: play it to its end", at);
    }
  };
  return { player, judge };
}

function actionsOf(reference: Reference<unknown> | undefined): readonly unknown[] | undefined {
  const actions: unknown = reference !== undefined && "actions" in reference ? reference.actions : reference;
  return Array.isArray(actions) ? (actions as unknown[]) : undefined;
}
