/** What is promised of the command line, of evaluations, and of the package. */

import type { Requirement } from "../requirement.ts";

const at = (name: string) => `clients/cli/${name}.test.ts`;

export const commandLineRequirements = {
  "cli/serve-json": {
    promise: "`serve --port 0 --json` prints one line, url and instance, once it takes connections, and nothing else",
    source: "issue 3 What a user gets; architecture.md §5",
    tests: [
      [
        at("serve"),
        "prints one line of JSON, starts interpreters when they are needed, and leaves none of them behind",
      ],
      [at("serve"), "answers within 1.5 s of its start"],
    ],
  },
  "cli/signals": {
    promise: "the first signal drains, the second ends at once, and one that comes early is not lost",
    source: "wire.md Errors; complaint #15",
    tests: [
      [at("serve"), "drains on the first signal and exits at once on the second"],
      [at("serve"), "ends in order on a signal that comes as soon as it has said where it serves"],
      [at("demo"), "ends on Ctrl-C, and does not wait for the step that runs"],
    ],
  },
  "cli/exit-codes": {
    promise:
      "a command ends with 0 when it worked, 1 when it did not and 2 when the command line is wrong, in one line that helps",
    source: "issue 3 part 7",
    tests: [
      [at("commands"), "%j ends with %i"],
      [at("serve"), "says which port is taken, and what to do, in one line"],
    ],
  },
  "cli/help": {
    promise: "the help of each command names its options and shows an example, and says what the server does unasked",
    source: "issue 3 part 7",
    tests: [
      [at("commands"), "of %j names its options and shows an example"],
      [at("commands"), "says what the server does unasked"],
    ],
  },
  "cli/progress": {
    promise: "whatever takes more than a second says how far it is, and what is done in a moment does not",
    source: "issue 3 What a user gets",
    tests: [
      [at("progress"), "is a bar with count, what is left and news, once a second has passed, and is gone at the end"],
      [at("progress"), "shows nothing of what is done in a moment"],
    ],
  },
  "check-env/finds": {
    promise: "`check-env` finds each fault by its rule, once, and ends a call that never returns",
    source: "architecture.md §4",
    tests: [
      ["envs/core/check.test.ts", "every rule has an animal"],
      [at("check-import"), "passes a sound file that lies anywhere, and says what is wrong with another"],
      [at("check-import"), "ends a step that never returns, says which it was, and checks what is left"],
      [at("check-import"), "says once what is wrong with a program, for all its tasks"],
    ],
  },
  "eval/infrastructure-apart": {
    promise: "an episode that was lost for no fault of the agent is counted apart, and never as a return of 0",
    source: "issue 3 part 7; architecture.md §8.3; complaints E.38, E.40, E.41",
    tests: [
      [at("eval"), "counts a broken environment apart, never as 0, and plays what is missing when it is run again"],
      [at("summary"), "leaves out what failed for no fault of the agent, instead of counting it as 0"],
      [at("eval"), "plays an episode anew when its sandbox was lost"],
    ],
  },
  "eval/agent-failures": {
    promise: "an agent's own failure has a name, and its episode counts with the return that it had",
    source: "complaints E.32, E.40",
    tests: [
      [at("eval"), "names an agent's failures, counts them, and starts it again"],
      [at("summary"), "counts the agent's own failures, with the return they had, and never as solved"],
    ],
  },
  "eval/resume": {
    promise:
      "an evaluation that was killed goes on: nothing is played twice, nothing is lost, other settings are refused",
    source: "issue 3 part 7; complaint #30",
    tests: [
      [at("eval"), "goes on after it was killed: nothing is played twice, nothing is lost, other settings are refused"],
      [at("store"), "drops a last line that was torn, even within a character, and goes on behind the one before"],
    ],
  },
  "eval/interval": {
    promise: "mean return and solved rate come with 95 % intervals that say no more than the samples can",
    source: "issue 3 part 7",
    tests: [
      [at("statistics"), "a mean's interval, by hand: 5 samples, deviation √2.5, t 2.7764"],
      [at("statistics"), "there is no interval where no spread was seen"],
      [at("summary"), "takes its interval over tasks, because the episodes of one resemble each other"],
    ],
  },
  "eval/deterministic": {
    promise: "an evaluation plays the same for the same seed, byte for byte, whatever runs side by side",
    source: "architecture.md §8.5",
    tests: [[at("eval"), "plays the same for the same seed, byte for byte, whatever runs side by side"]],
  },
  "eval/no-server": {
    promise:
      "an evaluation without a server says so at once; one whose server is lost says that, waits, and goes on with it",
    source: "complaints #21, E.29",
    tests: [
      [at("eval"), "says at once, and why, that there is no server, and writes nothing"],
      [at("eval"), "says that it has lost its server while it tries to reach it, and plays on when it is back"],
      [at("run"), "a client that has given up on its server ends the run, with what was met first as the reason"],
    ],
  },
  "eval/agent-is-told-enough": {
    promise:
      "an agent's process is told task, tools and observations, and neither the environment's seed nor a reward unasked",
    source: "architecture.md §8.4; complaint 5.10",
    tests: [[at("agents"), "gets what the README says, and neither the environment's seed nor a reward"]],
  },
  "demo/everything": {
    promise: "`demo` plays each family of tasks with its reference, and each kind of failure, in less than two minutes",
    source: "issue 3 What a user gets",
    tests: [
      [
        at("demo"),
        "plays every family of tasks and shows what happens when something goes wrong, in less than two minutes",
      ],
    ],
  },
  "bench/in-the-same-run": {
    promise: "`bench` holds its figures against something measured in the same run, and says whether each aim was met",
    source: "issue 3 Speed and memory; complaint 5.15",
    tests: [
      [at("bench"), "measures, says on which machine, and whether each aim was met, for a person and in a file"],
      [at("bench"), "shows what a figure was held against in the same run"],
    ],
  },
  "readme/runs": {
    promise: "the README's examples run as they stand, and the commands that it names exist",
    source: "issue 3 part 8; architecture.md §8.9",
    tests: [
      ["readme.test.ts", "every example was found"],
      ["readme.test.ts", "the TypeScript client's example runs against a server"],
      [at("agents"), "may be the one of the README"],
    ],
  },
  "package/plain-javascript": {
    promise: "the published package serves, plays and is typed in a project of its own, in plain JavaScript",
    source: "architecture.md §3",
    tests: [
      [
        "e2e/package.ts",
        "`trailgym serve` prints where it serves, a client in JavaScript plays there, and nothing is left of it",
      ],
      ["e2e/package.ts", "its declarations are right for a strict project"],
    ],
  },
  "cli/tls": {
    promise: "with a certificate the server speaks wss and https and nothing else; a bad one is said before it serves",
    source: "issue 4 part 6",
    tests: [
      [at("serve"), "speaks wss and https with a certificate, and only those"],
      [at("serve"), "says what is wrong with a certificate before it serves"],
    ],
  },
  "cli/attest": {
    promise: "serve --attest refuses an environment that differs from itself when it is played again",
    source: "issue 4 part 7; architecture.md §2",
    tests: [
      [
        at("serve"),
        "serves with --attest what is the same when it is played again, and nothing beside an environment that is not",
      ],
    ],
  },
} as const satisfies Record<string, Requirement>;
