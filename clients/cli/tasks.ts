/** Which tasks does an environment have? Their public fields only. */

import { openEndpoint } from "./compose/endpoint.ts";
import { type Io, note, print, printJson, width } from "./terminal/io.ts";
import type { EndpointOptions } from "./settings.ts";
import { table } from "./terminal/table.ts";

export interface TasksOptions extends EndpointOptions {
  split?: string;
  /** 0: all. */
  limit: number;
  json?: boolean;
}

export async function tasks(io: Io, env: string, options: TasksOptions): Promise<void> {
  const { split, limit, json } = options;
  await using endpoint = await openEndpoint(io, options);
  const { client } = endpoint;
  const { signal } = io;
  const { total } = await client.call("env/tasks", { env, split, limit: 1 }, { signal });
  const found = await Array.fromAsync(client.tasks(env, { split, limit: limit === 0 ? undefined : limit, signal }));
  if (json === true) return printJson(io, { env, total, tasks: found });
  if (total === 0) return note(io, `${env} has no tasks: every episode is made from its seed`);
  const fields = [...new Set(found.flatMap((task) => Object.keys(task)))];
  // The longest text is the one that gives way.
  const length = (field: string) => Math.max(...found.map((task) => textOf(task[field]).length));
  const longest = fields.toSorted((a, b) => length(b) - length(a))[0];
  const columns = fields.map((field) => ({ title: field, shrink: field === longest }));
  print(
    io,
    table(
      columns,
      found.map((task) => fields.map((field) => textOf(task[field]))),
      width(io),
    ),
  );
  if (found.length < total) note(io, `${total - found.length} more of ${total}; --limit 0 shows all`);
}

function textOf(value: unknown): string {
  return value === undefined ? "" : typeof value === "string" ? value : JSON.stringify(value);
}
