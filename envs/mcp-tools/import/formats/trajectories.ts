/** Our own trajectory files, and those that others have converted to them. */

import { reasonOf, trajectory } from "../../trajectory.ts";
import type { Draft, Format } from "../draft.ts";

export const trajectories: Format = {
  summary: "TrailGym's own: {id, task, tools, reference: [{tool, arguments, output, isError?}]}, one a line",

  read(value): Draft[] {
    const read = trajectory.safeParse(value);
    if (!read.success) throw new Error(reasonOf(read.error));
    const { reference, tools, source = "trajectories", ...rest } = read.data;
    const given = (value as { tools?: unknown[] }).tools ?? [];
    const raw = tools.map((tool, i) => {
      if (typeof tool === "string") return tool;
      const { inputSchema, ...others } = tool;
      // What the line does not say may be said elsewhere.
      const says = (given[i] as { inputSchema?: unknown }).inputSchema !== undefined;
      return { ...others, schema: says ? inputSchema : undefined };
    });
    return [{ ...rest, source, steps: reference, tools: raw }];
  },
};
