/** What is promised of sessions that outlive sockets, processes and servers, and of what is kept of them. */

import type { Requirement } from "../requirement.ts";

const journal = (name: string) => `server/journal/${name}.test.ts`;
const restart = "server/sessions/restart.test.ts";
const machine = "server/sessions/machine.property.test.ts";
const trajectories = "server/trajectory.test.ts";
const commands = "clients/cli/journal.test.ts";

export const journalRequirements = {
  "journal/kill": {
    promise: "a server killed at any moment, and sockets that break, lose, double and swap no step",
    source: "issue 4 Proof; architecture.md §8.2; complaints #2, #30, 5.2",
    tests: [
      [
        "server/kill.test.ts",
        "a server that is killed at any moment, and sockets that break, lose, double and swap no step",
      ],
    ],
  },
  "journal/resume": {
    promise: "after a restart a session goes on byte for byte as it would have, from its last committed value",
    source: "issue 4 part 3; architecture.md §2; complaint 5.2",
    tests: [
      [restart, "%s goes on byte for byte as it would have, wherever it was"],
      [restart, "attach gives where it is and the last reply"],
      [restart, "forks, snapshots and restores go on, and trajectories are whole"],
    ],
  },
  "journal/exactly-once-after-restart": {
    promise: "retries, conflicts and gaps are answered after a restart as before it",
    source: "issue 4 part 2; wire.md Sequence numbers; complaints #25, #26",
    tests: [
      [restart, "the whole table of sequence numbers holds"],
      [restart, "a running call of a server that drains is committed, and its reply is there after the restart"],
      [machine, "a session is where the model is also when its server goes down and comes up at any moment"],
    ],
  },
  "journal/fates": {
    promise: "what became of a session is told after a restart too",
    source: "wire.md Errors; complaint #23",
    tests: [[restart, "what became of a session is still told"]],
  },
  "journal/leases": {
    promise: "leases go on in wall time while no server runs, and begin anew for whoever held them when it died",
    source: "issue 4 part 3; complaints #14, #17",
    tests: [
      [restart, "of sessions that nobody held go on while no server does; whoever held one has its whole lease again"],
    ],
  },
  "journal/lazy": {
    promise:
      "10,000 sessions are there within 3 s of a start, each loaded when it is called, and idle ones leave memory",
    source: "issue 4 Proof",
    tests: [
      [
        journal("recovery"),
        "10,000 sessions are there again within 3 s, and each is loaded in a few milliseconds when it is called",
      ],
      [restart, "an idle session leaves memory and comes back, once for all who call it together"],
      [restart, "sessions of before count for the cap"],
    ],
  },
  "journal/full": {
    promise: "a full disk or journal refuses commits by a retryable name, loses none, and goes on when there is room",
    source: "issue 4 part 1; architecture.md §8.3",
    tests: [
      [journal("trouble"), "refuses commits by name, changes nothing, and goes on when there is room again"],
      [journal("trouble"), "lets its oldest ended episodes go, and only then refuses for long"],
      [journal("trouble"), "a full disk refuses commits by name, loses none, and goes on when there is room again"],
      [journal("wire"), "a full journal refuses steps by name, loses none, and the same seq works when there is room"],
    ],
  },
  "journal/damage": {
    promise: "a damaged journal is refused or noticed, and a wrong value is never played on",
    source: "issue 4 part 1",
    tests: [
      [journal("trouble"), "whose schema is gone is refused"],
      [journal("trouble"), "that lost its end is refused"],
      [journal("trouble"), "with some pages of rubbish gives all that is elsewhere, and refuses the rest by name"],
      [journal("trouble"), "whose state was changed is noticed: a wrong value is never played on"],
      [commands, "check names %s"],
    ],
  },
  "journal/schema": {
    promise: "an older journal is brought up to date whole or not at all, and a newer one is left alone",
    source: "issue 4 part 1",
    tests: [
      [journal("trouble"), "of an earlier version is brought up to date, whole or not at all"],
      [journal("trouble"), "of a newer version is refused, and left as it was"],
    ],
  },
  "journal/lock": {
    promise: "two servers never share a data folder, and a killed one leaves no lock behind",
    source: "issue 4 part 8",
    tests: [
      [journal("trouble"), "that another journal uses is refused, and free when that one is closed"],
      [journal("trouble"), "that another process uses is refused, and free the moment that one is killed"],
    ],
  },
  "journal/retention": {
    promise: "ended episodes go by age and size, and never one that a session, a retry or a branch needs",
    source: "issue 4 part 1; complaint #20",
    tests: [
      [journal("retention"), "episodes that ended too long ago go with all their rows, others stay"],
      [journal("retention"), "of a session that goes on, only what no retry can ask for goes"],
      [journal("retention"), "the source of a branch stays as long as the branch, and no longer"],
      [journal("retention"), "beyond the size the oldest go first, until there is room"],
    ],
  },
  "trajectory/whole": {
    promise: "an episode's trajectory is what its replies were, log-probs and digests included, whatever autoreset did",
    source: "issue 4 part 9; wire.md Methods",
    tests: [
      [trajectories, "an episode is what its replies were, from the opening to the end"],
      [trajectories, "the episodes of a session lead to each other, whatever autoreset did"],
      [commands, "writes what was played as JSON lines and as Parquet, with log-probs and digests"],
    ],
  },
  "trajectory/branches": {
    promise: "a fork or restored episode is one of its own, whose trajectory begins with its source's",
    source: "wire.md Methods; complaints #56, 5.3",
    tests: [[trajectories, "a branch of a branch begins with what each source had played until then"]],
  },
  "trajectory/roles": {
    promise: "trajectories are for trainers and observers of the same principal, and no agent",
    source: "wire.md Methods; complaint 5.10",
    tests: [[trajectories, "they and the list of sessions are for trainers and observers of the same principal"]],
  },
  "trajectory/replay": {
    promise: "a recorded trajectory is played again, and the first step that differs is named",
    source: "issue 4 part 7; complaint 5.9",
    tests: [[commands, "finds every trajectory as it was, and names the first step of one that is not"]],
  },
  "session/list": {
    promise: "a client that lost its own process finds its sessions again",
    source: "wire.md Methods",
    tests: [[trajectories, "sessions are listed in pages, with where they are and who holds them"]],
  },
} as const satisfies Record<string, Requirement>;
