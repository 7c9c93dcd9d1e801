/** What is promised of CodeGym's programs: how they are played, judged, checked, imported and shipped. */

import type { Requirement } from "../requirement.ts";

const play = "envs/code-gym/play.test.ts";
const imports = "envs/code-gym/import.test.ts";
const fixtures = "envs/code-gym/fixtures.test.ts";
const command = "clients/cli/check-import.test.ts";

export const codeGymRequirements = {
  "code-gym/trial-then-overwrite": {
    promise: "a tool call that fails or meets a limit is an observation, and leaves the program's state as it was",
    source: "codegym.md A5; architecture.md §2",
    tests: [
      [play, "that passes a limit (%s) is an observation, and its state is as before"],
      [play, "that throws, or keeps what cannot be kept, is an observation with the state as before"],
      [play, "that keeps a generator, or exits, is an observation with the state as before"],
    ],
  },
  "code-gym/first-done": {
    promise: "the first Done decides the reward, 1 or 0, and ends the episode: no second answer wins",
    source: "issue 3 part 6; codegym.md A2",
    tests: [
      [play, "gives reward 1 for a right first answer, 0 for a wrong one, with one reply for both"],
      [play, "cannot be won by a second answer"],
    ],
  },
  "code-gym/observe-done": {
    promise: "Observe and Done are there under their own names, under those of the prompt, and under well-known ones",
    source: "codegym.md A2, A3",
    tests: [
      [play, "takes Observe and Done by the names of the prompt, by their own and by synonyms"],
      [play, "may not define Observe or Done"],
    ],
  },
  "code-gym/hidden-answer": {
    promise:
      "no observation, tool or task field shows the reference answer, and a reply to an answer tells nothing of it",
    source: "codegym.md A2; architecture.md §8.4; complaint #53",
    tests: [
      [play, "shows the question and the tools that it has, and no example, payload or answer"],
      [play, "passes on the errors that it reports, but nothing that Done says"],
      [play, "judges by its own accepts, and says nothing of what that throws"],
      ["envs/code-gym/task.test.ts", "gives tasks by split, train first, and publishes nothing of the payload"],
    ],
  },
  "code-gym/budget": {
    promise: "an episode that uses up its calls is truncated, with reward 0",
    source: "issue 3 part 6; codegym.md A4",
    tests: [[play, "is truncated with reward 0 at the call budget"]],
  },
  "code-gym/arguments": {
    promise: "arguments that are missing, unknown or of the wrong type are observations, and the program does not run",
    source: "codegym.md A2; wire.md Errors",
    tests: [[play, "refuses missing, unexpected and badly typed arguments without running"]],
  },
  "code-gym/reference": {
    promise: "a program's own solution is the task's reference, and reaches return 1 in the recorded number of calls",
    source: "issue 3 part 6; codegym.md A2",
    tests: [
      [play, "plays its own solution as reference, and passes the check"],
      [fixtures, "$id: its own solution, played step by step, returns 1 after the recorded calls"],
    ],
  },
  "code-gym/verified": {
    promise:
      "a check finds tasks whose solution loses or takes other calls, that a wrong answer wins, or that show the answer",
    source: "codegym.md A2, A4; complaints #54, E.43",
    tests: [
      [play, "is found out by the check when the recorded call count is another"],
      [play, "is found out by the check when anything wins, its solution loses, or it has few tools"],
      [play, "is found out by the check when the answer is seen before anything is done"],
    ],
  },
  "code-gym/task-fault": {
    promise:
      "a program that does not start is the task's fault, in one sentence with its file and line, and no agent's",
    source: "codegym.md A4; complaints E.38, E.40",
    tests: [
      [play, "that does not start is the task's fault, named with its id"],
      [play, "that throws while it starts is one sentence of the check, with its file and innermost line"],
      [command, "says once what is wrong with a program, for all its tasks"],
    ],
  },
  "code-gym/limit-named": {
    promise: "a limit that a program meets is named as the call had it, be it a step or the program's own solution",
    source: "codegym.md A4; complaint E.39",
    tests: [
      ["envs/code-gym/limits.test.ts", "$status while it starts"],
      ["envs/code-gym/limits.test.ts", "$status while it solves its task"],
    ],
  },
  "code-gym/infrastructure": {
    promise: "a sandbox that fails is an error, and never an observation",
    source: "architecture.md §8.3; codegym.md A5",
    tests: [[play, "that fails is an error, never an observation"]],
  },
  "code-gym/released-format": {
    promise:
      "a program in the released format runs unchanged, its payload, docstrings and errors read as its authors meant",
    source: "issue 3 part 6; codegym.md A2, A3",
    tests: [
      [play, "runs with a payload that is a Python literal"],
      [play, "reads parameters from annotations and docstrings"],
      [play, "gets integers beyond 2^53 from a model's text as they are"],
    ],
  },
  "import/whole": {
    promise: "released instances become a dataset, from JSONL or Parquet, with their programs inside or apart",
    source: "issue 3 part 6; codegym.md A1, A3",
    tests: [
      [imports, "makes a dataset folder of JSONL rows with their programs inside"],
      [imports, "takes programs from tables and .py files, whatever the order of the files"],
    ],
  },
  "import/bad-rows": {
    promise: "a bad row is listed with its file, line and reason, and the rest is imported",
    source: "issue 3 part 6; complaint #44",
    tests: [
      [imports, "lists bad rows with line and reason and imports the others"],
      [imports, "survives a line that is not UTF-8 and lines across chunks"],
      [command, "imports the good rows, lists the bad ones with line and reason, and what it made can be checked"],
    ],
  },
  "import/all-or-nothing": {
    promise: "an import that has nothing to keep leaves nothing behind, and says so with its exit code",
    source: "architecture.md §8.6",
    tests: [
      [command, "keeps to --limit, fails with --strict, and leaves nothing where nothing was imported"],
      [imports, "ends when the dataset cannot be written"],
    ],
  },
  "code-gym/built-in": {
    promise: "24 programs are built in, 12 in each language, each with 4 tools and 5 tasks or more",
    source: "issue 3 part 6",
    tests: [
      [fixtures, "has 24 programs, 12 in each language"],
      [fixtures, "$path: 5 tasks or more, 4 tools or more, and 2 wrong plays or more"],
      [fixtures, "has a recorded number of calls for each task, within its budget"],
    ],
  },
  "code-gym/wrong-plays": {
    promise: "plays that are known to be wrong return 0, two or more of each built-in program",
    source: "issue 3 part 6; complaints #54, 5.10",
    tests: [
      [fixtures, "$id: wrong play $n returns 0"],
      [fixtures, "$path: 5 tasks or more, 4 tools or more, and 2 wrong plays or more"],
    ],
  },
  "code-gym/built-in-sound": {
    promise: "the built-in tasks pass their own check",
    source: "codegym.md A4",
    tests: [[fixtures, "$id is sound: nothing but its own solution wins, and nothing leaks"]],
  },
} as const satisfies Record<string, Requirement>;
