/** What else may Observe and Done be called? Prompts of the released data rename them, and models do so by themselves. */

const observe =
  "Observe Observation GetObs GetObservation GetState State Sense Look LookAround Inspect View Perceive Watch Check " +
  "CheckState See Peek Survey Scan ReadState ShowState Status GetStatus";
const done =
  "Done Submit SubmitAnswer Finish Complete Answer FinalAnswer GiveAnswer Finalize Conclude End EndTask Terminate " +
  "Report ReturnAnswer Commit Stop Final Resolve Deliver Finished";

const plainName = (name: string) => name.replace(/[^a-z0-9]/gi, "").toLowerCase();

const synonyms: ReadonlyMap<string, "Observe" | "Done"> = new Map([
  ...observe.split(" ").map((name) => [plainName(name), "Observe"] as const),
  ...done.split(" ").map((name) => [plainName(name), "Done"] as const),
]);

/** Which of the two a name means; undefined for any other. Case and underscores do not count. */
export function meaningOf(name: string): "Observe" | "Done" | undefined {
  return synonyms.get(plainName(name));
}

/** What an agent of a task sees for a program's tool. */
export interface Names {
  readonly Observe?: string | undefined;
  readonly Done?: string | undefined;
}

export const shownName = (names: Names, tool: string): string =>
  (tool === "Observe" || tool === "Done" ? names[tool] : undefined) ?? tool;

/**
 * Finds the shown name for what an agent may have meant. A synonym that sounds like one of the program's own tools is
 * left alone: to take `sense` for Observe next to a tool Sense would hide a mistake.
 */
export function aliases(tools: readonly string[], names: Names): (name: string) => string | undefined {
  const own = new Set(tools.filter((tool) => tool !== "Observe" && tool !== "Done").map(plainName));
  return (name) => {
    if (own.has(plainName(name))) return undefined;
    const isRenamed = (tool: "Observe" | "Done") => plainName(names[tool] ?? tool) === plainName(name);
    const meaning = isRenamed("Observe") ? "Observe" : isRenamed("Done") ? "Done" : meaningOf(name);
    return meaning && shownName(names, meaning);
  };
}
