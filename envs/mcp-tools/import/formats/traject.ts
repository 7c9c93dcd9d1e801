/** TRAJECT-Bench: a query and its list of calls with their outputs. */

import { hashName } from "../../hash.ts";
import { argumentsIn, type Draft, type Format, isObject, type Place } from "../draft.ts";
import { at, textAt, trajectTool } from "../tool-files.ts";

export const traject: Format = {
  summary: "TRAJECT-Bench: public_data/{sequential,parallel}/<domain>/*.json",

  read(value, place): Draft[] {
    if (!isObject(value)) throw new Error("not an object");
    const query = textAt(value, "query");
    const list = at(value, "tool list");
    if (query === undefined || !Array.isArray(list)) throw new Error("there is no query with a tool list");
    const steps = list.map((entry: unknown, i) => stepOf(entry, i));
    const domain = textAt(list[0] as Record<string, unknown>, "domain name") ?? domainOf(place);
    const [, kind = "sequential"] = /(sequential|parallel)/.exec(place.file) ?? [];
    return [
      {
        id: `${domain ?? "traject"}/${stem(place.file)}/${place.line}`,
        source: ["traject-bench", kind, ...(domain ? [domain] : [])].join("/"),
        task: query,
        steps,
        tools: list.flatMap((entry: unknown) => (isObject(entry) ? (trajectTool(entry) ?? []) : [])),
        chain: hashName(JSON.stringify([domain, steps.map(({ tool }) => tool)])),
        family: domain,
        // Where a status is told at all, a workflow with a failed call is no success.
        success: steps.every(({ isError }) => isError !== true),
      },
    ];
  },
};

function stepOf(entry: unknown, i: number): Draft["steps"][number] {
  const tool = isObject(entry) ? trajectTool(entry) : undefined;
  if (!isObject(entry) || tool === undefined) throw new Error(`step ${i + 1} names no tool`);
  const status = textAt(entry, "execution status");
  const output = at(entry, "executed output") ?? at(entry, "output");
  return {
    tool: tool.name,
    arguments: { ...parameters(entry, "required parameters"), ...parameters(entry, "optional parameters") },
    ...(output === undefined || output === null ? {} : { output }),
    ...(status === undefined ? {} : { isError: !/^success/i.test(status) }),
  };
}

function parameters(entry: Record<string, unknown>, key: string): Record<string, unknown> {
  const list = at(entry, key);
  if (!Array.isArray(list)) return argumentsIn(list);
  const given = list
    .filter(isObject)
    .filter(({ name, value }) => typeof name === "string" && value !== undefined && value !== null && value !== "");
  return Object.fromEntries(given.map(({ name, value }) => [name as string, value]));
}

const stem = (file: string): string => file.replace(/^.*[/\\]/, "").replace(/\.[a-z]+$/i, "");

/** The folder under "sequential" or "parallel". */
function domainOf({ file }: Place): string | undefined {
  return /(?:sequential|parallel)[/\\]([^/\\]+)[/\\]/.exec(file)?.[1];
}
