/** Each bad frame of fixtures/rejections gets the exact reply or close code, and touches nobody else. */

import { describe, expect, test } from "vitest";
import { countdown, echo } from "../resources/envs.ts";
import { begin, step } from "../resources/play.ts";
import { answersTo, rejectionLimits, rejections } from "../resources/rejections.ts";
import { serverResource } from "../resources/server.ts";

describe.each(rejections())("$file: $summary", ({ cases }) => {
  test.each(cases)("$name", async (rejection) => {
    await using server = await serverResource({ envs: [countdown, echo], config: rejectionLimits });
    const bystander = await server.wire();
    const theirs = await begin(bystander, "countdown-v1");
    const session = await begin(bystander, "countdown-v1");
    const wire = await server.wire({ initialize: rejection.state !== "fresh" });
    const { replies, close } = rejection;
    expect(replies === undefined).not.toBe(close === undefined);
    expect(await answersTo(wire, rejection, session)).toEqual(close === undefined ? { replies } : { close });
    expect(await step(bystander, theirs, { amount: 1 }, { seq: 1 })).toMatchObject({ index: 1 });
    expect(await step(bystander, session, { amount: 1 }, { seq: 1 })).toMatchObject({ index: 1 });
    expect(server.server.sessions).toBe(2);
  });
});
