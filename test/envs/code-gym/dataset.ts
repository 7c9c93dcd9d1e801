/** A dataset of one program in memory. */

import { loadTasks, type CodeGymTask, type TaskLine } from "../../../envs/code-gym/task.ts";
import { taskFiles } from "../context.ts";
import { lamps, parcels } from "./programs.ts";

export function dataset(programs: Readonly<Record<string, string>>, ...lines: unknown[]) {
  const tasks = lines.map((line) => (typeof line === "string" ? line : JSON.stringify(line))).join("\n");
  return taskFiles({ "dataset.json": '{"env":"code-gym-v1","name":"tests"}', ...programs, "tasks.jsonl": tasks });
}

async function only(programs: Readonly<Record<string, string>>, line: TaskLine): Promise<CodeGymTask> {
  return (await loadTasks([dataset(programs, line)])).get(line.id) as CodeGymTask;
}

export function lampsTask(fields: Partial<TaskLine> = {}, source = lamps): Promise<CodeGymTask> {
  const payload = { row: [true, false, true] };
  const line = { id: "lamps/0", program: "programs/lamps.js", question: "How many lamps are on?", payload };
  return only({ "programs/lamps.js": source }, { ...line, ...fields });
}

export function parcelsTask(fields: Partial<TaskLine> = {}, source = parcels): Promise<CodeGymTask> {
  const payload = { weights: [4, 9, 8.5], sender: "a@b \\@ '\"", fragile: true, note: null };
  const line = { id: "parcels/0", program: "programs/parcels.py", question: "Which two are heaviest?", payload };
  return only({ "programs/parcels.py": source }, { ...line, ...fields });
}
