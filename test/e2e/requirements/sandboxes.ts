/** What is promised of the places where untrusted code runs. */

import type { Requirement } from "../requirement.ts";

const contract = "contracts/interpreter.ts";
const hostile = "server/sandboxes/hostile.test.ts";

export const sandboxRequirements = {
  "sandbox/limits": {
    promise: "a program that meets its limit of time, memory, output or state ends with the outcome of that limit",
    source: "issue 3 part 5; complaints #31, #39",
    tests: [
      [contract, "answers %s to %s, and leaves the state as it was"],
      [contract, "keeps within the limits: what is just small enough passes"],
    ],
  },
  "sandbox/time-is-its-own": {
    promise: "a call's time begins when it runs, not when it begins to wait for a process",
    source: "complaints #36, #39; sandbox.md",
    tests: [[contract, "counts a call's time from its start, not from when it began to wait"]],
  },
  "sandbox/state-is-a-value": {
    promise: "a call gets the state it is given and nothing else, whatever was called before",
    source: "architecture.md §2, §5",
    tests: [
      [contract, "hands each call the state of an earlier one, and none to the first"],
      [contract, "gives the same outcome for the same state, whatever happened since"],
      [contract, "keeps sessions apart that take turns"],
    ],
  },
  "sandbox/no-leak": {
    promise: "nothing that a program keeps outside of its state reaches its next call, or another program",
    source: "architecture.md §8.1; complaint #50",
    tests: [
      [contract, "forgets between calls what a call kept in a %s"],
      [contract, "keeps what a program prints with the outcome of that call only"],
      [hostile, "is contained: %s"],
    ],
  },
  "sandbox/failure-invisible": {
    promise: "nothing of a call that failed is seen by a later one",
    source: "architecture.md §8.1",
    tests: [[contract, "shows nothing of a call that failed"]],
  },
  "sandbox/no-host": {
    promise: "a program reaches no file, socket, process or thread, and learns nothing of the host",
    source: "issue 3 part 5; architecture.md §8.4; complaint 5.10",
    tests: [
      [
        "server/sandboxes/pyodide.test.ts",
        "reaches no file, socket, process or thread, and learns nothing of the host",
      ],
      [contract, "names the lines of the program in a trace, and no path of the host"],
      [hostile, "is contained: %s"],
    ],
  },
  "sandbox/no-chance": {
    promise: "a program has no clock and no chance but what its call brings",
    source: "architecture.md §8.5",
    tests: [[contract, "has no clock and no chance"]],
  },
  "sandbox/killed": {
    promise: "a call that is aborted is killed, not asked to stop, and the calls after it are served",
    source: "architecture.md §2; complaints #34, 5.4, E.8",
    tests: [
      [contract, "kills a call that is aborted, and drops one that waits"],
      [contract, "ends an ordinary endless loop without losing the process"],
    ],
  },
  "sandbox/lost-process": {
    promise: "a call whose process was taken away runs again on another, and nobody else's is lost with it",
    source: "complaints #28, #30",
    tests: [[contract, "runs a call again whose process was taken away, and answers those that wait"]],
  },
  "sandbox/neighbours": {
    promise: "a program that burns its process slows no other one's calls",
    source: "issue 3 part 5; complaint #36",
    tests: [[hostile, "the other one keeps its pace"]],
  },
  "sandbox/nothing-left": {
    promise: "no process is left of a pool that was disposed or of a server that was killed, whatever ran in it",
    source: "architecture.md §8.6; complaints #15, 5.6, E.8",
    tests: [
      [contract, "leaves no process when it is disposed, whatever runs"],
      [hostile, "takes its interpreter processes along, even from endless loops"],
    ],
  },
  "sandbox/lazy": {
    promise: "no process starts before a program needs one",
    source: "architecture.md §5",
    tests: [[contract, "starts nothing before the first call"]],
  },
  "threads/ended": {
    promise: "a step of an environment that never returns ends at its deadline, and others' steps do not wait for it",
    source: "architecture.md §2; complaints #33, #35, 5.4",
    tests: [
      ["server/hosts/threaded.test.ts", "a %s is ended at its deadline and the next step works"],
      ["server/hosts/threaded.test.ts", "calls behind a loop are answered long before its deadline"],
    ],
  },
} as const satisfies Record<string, Requirement>;
