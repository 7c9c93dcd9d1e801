/** What TrailGym promises, one sentence each, and where it was promised. Every one is held by a test: one that `verifies` it, or those that it names. */

import type { Requirement } from "./requirement.ts";
import { clientRequirements } from "./requirements/clients.ts";
import { codeGymRequirements } from "./requirements/code-gym.ts";
import { commandLineRequirements } from "./requirements/command-line.ts";
import { journalRequirements } from "./requirements/journal.ts";
import { sandboxRequirements } from "./requirements/sandboxes.ts";

/** What is promised of the wire and of the server behind it. */
const wireRequirements = {
  // Exactly once
  "seq/retry-same-bytes": {
    promise: "a retry of a committed call, on any socket, is answered with the stored bytes and executes nothing",
    source: "wire.md Sequence numbers; architecture.md §8.2; complaints #25, #26, 5.1",
  },
  "seq/conflict": {
    promise: "a committed seq with other params is SEQ_CONFLICT, and changes nothing",
    source: "wire.md Sequence numbers; complaint 5.1",
  },
  "seq/join-running": {
    promise: "a retry while its call runs joins the running trial, from whichever socket it comes",
    source: "wire.md Sequence numbers; complaint #36 (program users)",
  },
  "seq/busy": {
    promise: "another call while a trial runs is SESSION_BUSY, and nothing is queued behind it",
    source: "wire.md Sequence numbers",
  },
  "seq/gap": { promise: "a seq beyond the next is SEQ_GAP with the expected one", source: "wire.md Sequence numbers" },
  "seq/failure-consumes-nothing": {
    promise: "a failed call does not consume its seq",
    source: "wire.md Sequence numbers; architecture.md §8.1",
  },
  "session/state-machine": {
    promise: "in any order of calls a session runs one trial at a time, answers each id once and is where the model is",
    source: "wire.md Sequence numbers; architecture.md §8.1, §8.2",
  },
  "replies/correlated": {
    promise: "after a client gave up on a call, no later reply is taken for that call's",
    source: "complaints #1, 5.1",
  },

  // A trial and its commit
  "trial/invisible": {
    promise: "a trial that is not committed changes nothing that a client can see, even where it wrote in place",
    source: "architecture.md §8.1",
  },
  "infra/never-a-reward": {
    promise: "a failure is an error by name, and never a reward, a return or an episode's end",
    source: "architecture.md §8.3; complaints #38, #40 (program users)",
  },
  "reward/finite": {
    promise: "a reward that is not finite is ENV_FAULT",
    source: "wire.md Values; complaints #47, 5.7",
  },
  "action/invalid": {
    promise: "an action out of the schema is INVALID_ACTION that says where, and the environment is not run",
    source: "wire.md Errors",
  },
  "message/reply-too-large": {
    promise: "a reply too large to send is MESSAGE_TOO_LARGE, and its step was not committed",
    source: "wire.md Errors",
  },
  "message/request-too-large": {
    promise: "a request larger than maxMessageBytes is refused by name, counted in bytes, and the socket stays open",
    source: "wire.md Errors; wire.md Bad input",
  },
  "fault/named": {
    promise: "an environment that throws is ENV_FAULT, never the client's fault",
    source: "wire.md Errors",
  },
  "fault/hidden-from-agents": {
    promise: "what an environment says when it fails is not shown to an agent",
    source: "architecture.md §4",
  },
  "roles/agents-see-no-reward": {
    promise:
      "an agent sees neither reward nor info nor what leads to the answer, in no reply, unless its token discloses them",
    source: "wire.md Handshake and roles",
  },

  // Deadlines and cancel
  "deadline/stops-the-work": {
    promise:
      "at its deadline a trial's signal is aborted, the call is DEADLINE, and the same seq is still the next one",
    source: "architecture.md §2; complaints #32, #34, 5.4",
  },
  "deadline/ignored-signal": {
    promise: "an environment that ignores its signal does not hold the session, and its late value is thrown away",
    source: "architecture.md §2; complaint #34",
  },
  "cancel/untouched": {
    promise: "$/cancel ends a running call with CANCELLED and leaves the state untouched",
    source: "wire.md Methods; complaint 5.4",
  },
  "cancel/same-read": {
    promise: "a call that is told CANCELLED committed nothing, even when call and cancel arrive together",
    source: "wire.md Methods",
  },
  "progress/rate": {
    promise: "progress is sent at most 10 times a second for one id",
    source: "wire.md Methods; complaint 5.4",
  },

  // Episodes
  "episode/truncated": {
    promise: "an episode is truncated, not terminated, at its maximum of steps",
    source: "architecture.md §7; complaints #43, #45",
  },
  "autoreset/next-step": {
    promise: "with nextStep autoreset the step after the end gives the next episode's first observation and reward 0",
    source: "wire.md Methods; complaints #45, 5.8",
  },
  "autoreset/same-step": {
    promise: "with sameStep autoreset the last step gives the final observation beside the next episode's first",
    source: "wire.md Methods; complaints #46, 5.8",
  },
  "autoreset/replayable": {
    promise: "an episode that autoreset began is replayed by resetting with the seed it tells",
    source: "architecture.md §8.5; complaint #48",
  },
  "seed/honoured": {
    promise: "a seed decides the whole episode, and one that the server drew is told and does the same",
    source: "wire.md Methods; complaints #42, #48",
  },
  "episode/deterministic": {
    promise: "the same task, seed and actions give byte-identical trajectories, on another server too",
    source: "architecture.md §8.5; complaints #46, 5.9",
  },
  "sessions/independent": {
    promise: "sessions that take turns play exactly as each would alone",
    source: "complaints #50, #13",
  },
  "digest/step-or-end": {
    promise: "the state digest is in every reply, or with digest end only at reset and at the episode's end",
    source: "wire.md Values",
  },
  "digest/attestation": {
    promise: "the state digest is the SHA-256 of the state's canonical JSON, so that anybody can check it",
    source: "wire.md Values; complaint 5.9",
  },
  "observation/not-aliased": {
    promise: "an observation that was sent is not changed by an environment that uses its buffer again",
    source: "complaint #46",
  },
  "value/lossless": {
    promise: "any value goes in as an action and comes out as an observation the same, NaN, int64 and arrays included",
    source: "wire.md Values; complaint 5.7",
  },
  "tasks/seed-chooses": {
    promise: "without a task the seed chooses one of the split, always the same",
    source: "wire.md Methods",
  },
  "tasks/no-answers": {
    promise: "env/tasks shows public fields in pages, and never an answer",
    source: "wire.md Methods; architecture.md §8.4",
  },

  // Branching
  "fork/same-replies": {
    promise: "forks of one value with the same actions give the same replies, each with its own seq from 0",
    source: "wire.md Methods; complaints #56, #57, 5.3",
  },
  "fork/independent": {
    promise: "a fork lives on when its source and its siblings are closed, and a snapshot outlives its session",
    source: "wire.md Methods; complaint 5.3",
  },
  "restore/continues": {
    promise: "a restored session continues from the snapshot's value as it did the first time",
    source: "wire.md Methods; complaint #58",
  },
  "observe/never-waits": {
    promise: "observe, snapshot and fork answer with the committed value while a trial runs",
    source: "wire.md Methods",
  },

  // Sessions, leases, capacity
  "attach/last-reply": {
    promise: "a session survives its socket: attach gives what was committed meanwhile and the last reply",
    source: "wire.md Methods; complaints #2, #4, 5.2",
  },
  "lease/held-lives": {
    promise: "a session that a socket holds lives, however long nobody calls it",
    source: "wire.md Methods; complaint #6",
  },
  "lease/expires": {
    promise: "a session that no socket holds ends when its lease has run out, and says so",
    source: "wire.md Errors; complaints #14, #17, 5.6",
  },
  "capacity/slots-freed": {
    promise: "a peer that died without a word frees its slot",
    source: "complaints #8, #10, 5.5",
  },
  "capacity/named": {
    promise: "a full server says CAPACITY and when to try again, and never opens more than its cap",
    source: "wire.md Errors; complaints #17, 5.5",
  },
  "admission/turns": {
    promise: "where trials must wait, principals take turns, and each is told its place",
    source: "wire.md $/progress; complaints #12, #17, 5.5",
  },
  "admission/deadline-and-cancel": {
    promise: "a call that waits can be cancelled, closed, or run out of time: nothing was run, and its session goes on",
    source: "wire.md; complaints #5, #6, 5.4",
  },
  "admission/quota": {
    promise: "a principal at its own limit of running trials waits, and delays nobody else",
    source: "complaint 5.5",
  },
  "admission/sessions-wait": {
    promise: "env/make waits for room in turn, and whoever is gone meanwhile gets no session",
    source: "wire.md env/make; complaints #8, #10, #11, 5.5",
  },
  "admission/bytes": {
    promise: "requests under way are bounded, over all and for each principal, and what is refused may be sent again",
    source: "architecture.md §5; complaint 5.5",
  },
  "close/idempotent": {
    promise: "closing a session again gives the same answer, from any socket",
    source: "wire.md Methods; complaints #16, #22",
  },

  // The socket
  "batch/side-by-side": {
    promise: "requests of a batch run side by side and are answered in one array when all have ended",
    source: "wire.md Methods; complaint 5.8",
  },
  "init/first": {
    promise: "initialize comes first, once, and agrees on a version or lists those there are",
    source: "wire.md Handshake; complaint 5.11",
  },
  "params/strict": { promise: "an unknown key is INVALID_PARAMS that names it", source: "wire.md; complaint #44" },
  "names/suggested": {
    promise: "a wrong name of a method or environment is answered with the one that was meant",
    source: "wire.md Errors",
  },
  "heartbeat/drops-the-dead": {
    promise: "a peer that answers no ping is dropped, whatever TCP believes",
    source: "architecture.md §5; complaint #10",
  },
  "heartbeat/busy-is-not-dead": {
    promise: "a peer whose socket is not read because its calls run is not taken for dead",
    source: "complaints #3, #4",
  },
  "flow/in-flight": {
    promise: "a flood of calls waits in its own peer's buffers and slows nobody else",
    source: "wire.md Bad input",
  },
  "flow/slow-reader": {
    promise: "a peer that does not read its replies is closed within bounded memory, and nobody else notices",
    source: "wire.md Bad input",
  },
  "bad-input/fuzz": {
    promise:
      "20,000 random and mutated frames crash nothing, leave no id unanswered or answered twice, and leak no session",
    source: "issue 3 Bad input",
  },
  "results/conform": { promise: "every result has the shape that its method promises", source: "architecture.md §8.8" },
  "errors/conform": {
    promise: "every error has the code, the fields and the retryable flag of the error table",
    source: "wire.md Errors",
  },
  "openrpc/served": {
    promise: "the OpenRPC document is the same over HTTP, over the socket and in the repository",
    source: "wire.md Handshake; architecture.md §8.8; complaint 5.11",
  },

  // The door
  "auth/token": {
    promise: "with tokens configured nobody without one gets in, by header or by initialize",
    source: "wire.md Handshake",
  },
  "roles/forbidden": {
    promise: "a role may call exactly the methods that name it",
    source: "architecture.md §5; complaint 5.10",
  },
  "principals/apart": {
    promise: "sessions and snapshots belong to their principal, for all its sockets and for nobody else",
    source: "wire.md Methods; complaint 5.10",
  },
  "principals/quota": {
    promise: "a token bounds the sessions of its principal, whoever else has room",
    source: "issue 4 parts 4 and 6",
    tests: [
      [
        "server/principals.test.ts",
        "a principal's sessions are bounded by its token, whoever else has room, and room comes back with each that ends",
      ],
    ],
  },
  "door/origin": { promise: "a web page of another host may not connect", source: "architecture.md §5" },
  "door/loopback-guard": {
    promise: "a server without tokens does not listen beyond loopback unless it is told that this is meant",
    source: "architecture.md §5",
  },

  // The end
  "sessions/leave-nothing": {
    promise: "sessions that ended, in whatever way, leave no process, thread, handle, file or memory behind",
    source: "issue 4 Proof; complaints #18, #19, 5.6",
    tests: [
      [
        "server/leaks.test.ts",
        "200 sessions ended in every way leave no process, thread, handle, file or memory behind",
      ],
      [
        "server/leaks.long.test.ts",
        "2,000 sessions ended in every way leave no process, thread, handle, file or memory behind",
      ],
    ],
  },
  "log/ids": {
    promise: "lines of the log name session, episode and the client's trace",
    source: "architecture.md §5; complaints #23, 5.12",
  },
  "log/redacted": {
    promise: "no line of the log holds a token, an action or an observation",
    source: "architecture.md §5",
  },
  "trace/spans": {
    promise: "calls are spans of the client's trace, where OpenTelemetry collects them",
    source: "complaint 5.12",
  },
  "ready/journal": {
    promise: "a server whose journal takes no commits says that it is not ready, until it does again",
    source: "architecture.md §5",
  },
  "shutdown/bounded": {
    promise: "a shutdown ends in time, also where a part of the server does not",
    source: "architecture.md §8.6",
  },
  "shutdown/drains": {
    promise: "a shutdown takes no new work, lets running calls end and closes with 1001",
    source: "wire.md Errors; issue 3 part 4",
  },
  "shutdown/nothing-left": {
    promise: "a closed server leaves nothing that keeps its process alive",
    source: "architecture.md §8.6; complaint #15",
  },
  "server/names-no-env": { promise: "the server names no environment", source: "architecture.md §8.7" },
} as const satisfies Record<string, Requirement>;

export const groups = {
  wire: wireRequirements,
  journal: journalRequirements,
  sandboxes: sandboxRequirements,
  codeGym: codeGymRequirements,
  clients: clientRequirements,
  commandLine: commandLineRequirements,
} as const;

export const requirements = {
  ...wireRequirements,
  ...journalRequirements,
  ...sandboxRequirements,
  ...codeGymRequirements,
  ...clientRequirements,
  ...commandLineRequirements,
} as const;

export type RequirementId = keyof typeof requirements;
