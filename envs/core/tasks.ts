/** Tasks: the problems that one environment can be reset to. */

/** What `env/tasks` shows of a task. Whatever is in it, an agent may see. */
export interface PublicTask {
  readonly id: string;
  readonly [field: string]: unknown;
}

export interface TaskPage {
  tasks: readonly PublicTask[];
  total: number;
  nextCursor?: string;
}

export interface TaskSource<Task = unknown> {
  /** Names of the splits; the first is the default. */
  splits(): readonly string[];
  /** Groups of tasks that an evaluation reports apart; empty when there is one kind. */
  families?(): readonly string[];
  /** One page in a fixed order. @param split undefined = all. An unknown split is an empty page. */
  list(split: string | undefined, cursor: string | undefined, limit: number): TaskPage;
  /** The whole task, answers and all; stays inside the server. */
  get(id: string): Task | undefined;
  /** The task that a seed chooses of a split; undefined when the split is empty or unknown. */
  pick(split: string, index: number): string | undefined;
  /** How many tasks a split has. */
  size(split: string): number;
}

/** A dataset folder that the server lends, read-only. `name` says which in messages; paths use "/". */
export interface TaskFiles {
  readonly name: string;
  list(): Promise<readonly string[]>;
  read(path: string): Promise<Uint8Array>;
}

/**
 * Tasks that fit in memory. Ids are unique over all splits.
 * @param show the public fields of a task; default: its id alone.
 * @throws TypeError for a bare list, which JavaScript would take for splits named "0", "1" …
 */
export function taskList<Task extends { readonly id: string }>(
  splits: { readonly [split: string]: readonly Task[] },
  show: (task: Task) => PublicTask = ({ id }) => ({ id }),
  families: readonly string[] = [],
): TaskSource<Task> {
  if (Array.isArray(splits)) throw new TypeError("tasks belong to a split: write taskList({ train: [...] })");
  const byId = new Map<string, Task>();
  for (const task of Object.values(splits).flat()) {
    if (byId.has(task.id)) throw new Error(`two tasks have the id "${task.id}"`);
    byId.set(task.id, task);
  }
  const of = (split: string | undefined): readonly Task[] =>
    split === undefined ? Object.values(splits).flat() : Object.hasOwn(splits, split) ? (splits[split] as Task[]) : [];
  return {
    splits: () => Object.keys(splits),
    families: () => families,
    list(split, cursor, limit) {
      const tasks = of(split);
      const start = cursor === undefined ? 0 : Math.max(0, Number.parseInt(cursor, 10) || 0);
      const end = start + limit;
      return {
        tasks: tasks.slice(start, end).map(show),
        total: tasks.length,
        ...(end < tasks.length ? { nextCursor: String(end) } : {}),
      };
    },
    get: (id) => byId.get(id),
    pick: (split, index) => of(split)[index]?.id,
    size: (split) => of(split).length,
  };
}
