/** Which environments are there? */

import { openEndpoint } from "./compose/endpoint.ts";
import { type Io, print, printJson, width } from "./terminal/io.ts";
import type { EndpointOptions } from "./settings.ts";
import { table } from "./terminal/table.ts";

export async function list(io: Io, options: EndpointOptions & { json?: boolean }): Promise<void> {
  await using endpoint = await openEndpoint(io, options);
  const { client } = endpoint;
  const entries = await client.list({ signal: io.signal });
  const totals = await Promise.all(
    entries.map(async ({ id }) => (await client.call("env/tasks", { env: id, limit: 1 }, { signal: io.signal })).total),
  );
  if (options.json === true)
    return printJson(
      io,
      entries.map((entry, i) => ({ ...entry, tasks: totals[i] })),
    );
  const columns = [
    { title: "environment" },
    { title: "tasks", align: "right" as const },
    { title: "splits" },
    { title: "needs" },
    { title: "summary", shrink: true },
  ];
  const rows = entries.map(({ id, splits, needs, summary }, i) => {
    const languages = needs.map((need) => need.replace("interpreter:", ""));
    return [id, totals[i] === 0 ? "–" : String(totals[i]), splits.join(" "), languages.join(" "), summary];
  });
  print(io, table(columns, rows, width(io)));
}
