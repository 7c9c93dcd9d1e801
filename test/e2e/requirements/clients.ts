/** What is promised of the clients, in TypeScript and in Python. */

import type { Requirement } from "../requirement.ts";

const contract = "contracts/client.ts";
const at = (name: string) => `clients/typescript/${name}.test.ts`;
const python = (name: string) => `clients/python/test_${name}.py`;

export const clientRequirements = {
  "client/exactly-once": {
    promise: "a step whose socket breaks is answered late, and was executed once",
    source: "wire.md Sequence numbers; complaints #1, #26, 5.1",
    tests: [
      [contract, "a step whose reply is lost with its socket is answered late, once"],
      [contract, "a step that runs while the socket is cut is joined, not started again"],
      [contract, "many cuts lose no step and play none twice"],
      [at("reconnect"), "a random schedule of lost sockets loses no step and plays none twice"],
    ],
  },
  "client/not-repeatable": {
    promise: "a call that may not happen twice fails with ConnectionLost once it was written, and is never sent again",
    source: "wire.md Methods; complaints #25, #27",
    tests: [[at("reconnect"), "calls that must not happen twice fail with ConnectionLost once they were written"]],
  },
  "client/bounded": {
    promise: "a client gives up after the allowed attempts, and every call and session learns why",
    source: "complaints #21, #24, #29",
    tests: [
      [at("reconnect"), "after the allowed attempts the client gives up, and every call and session learns why"],
      [at("reconnect"), "a frame that ends every socket it is sent on does not go round for ever"],
    ],
  },
  "client/capacity": {
    promise:
      "CAPACITY is thrown, or waited out for as long as the server says where that is asked for; nothing else is retried",
    source: "wire.md Errors; complaints #17, 5.5",
    tests: [[at("session"), "CAPACITY is thrown, or waited out when asked for"]],
  },
  "client/nothing-skipped": {
    promise: "after SEQ_CONFLICT or SEQ_GAP the client skips nothing until it is asked to",
    source: "wire.md Sequence numbers",
    tests: [
      [at("session"), "after SEQ_CONFLICT nothing is skipped until the caller asks for it"],
      [contract, "another client takes a session over, and the first is told instead of skipping"],
    ],
  },
  "client/abort": {
    promise: "after an abort the server's answer decides: a step has happened and is returned, or it has not",
    source: "wire.md Methods; complaints 5.4",
    tests: [
      [contract, "whenever an abort comes, the step has happened or not, and the next one fits"],
      [
        at("cancel"),
        "a step that was committed before the cancel arrived returns its result, and the next has the right seq",
      ],
    ],
  },
  "client/recordings": {
    promise: "the client sends what the recorded sessions say, and hands over what they answer",
    source: "architecture.md §3",
    tests: [
      [at("recordings"), "$file: $summary"],
      [at("recordings"), "every verb of a session is in some recording"],
    ],
  },
  "client/typed-errors": {
    promise: "every error of the wire reaches the caller by its name, with its fields, and costs no other call",
    source: "issue 3 part 7; wire.md Errors",
    tests: [
      [at("rejections"), "$name: $error.data.name"],
      [at("rejections"), "$name: `connect` throws $error.data.name"],
      [contract, "the server's errors arrive by name, with their fields"],
    ],
  },
  "client/violations": {
    promise: "what a server should not have sent is told, and is never taken for somebody's answer",
    source: "complaints #1, #43; wire.md Methods",
    tests: [
      [at("violations"), "a reply that comes twice, or to an id that was never used, is reported and changes nothing"],
      [at("session"), "a result without the promised shape is a violation, and its seq counts as used"],
    ],
  },
  "client/typed-roles": {
    promise: "only an agent may get a step without its reward; a trainer's client takes that for a violation",
    source: "wire.md Handshake and roles; complaint 5.10",
    tests: [
      [at("agent"), "is typed as what an agent may do and is told"],
      [at("agent"), "does not take a result of %s without %s for one"],
    ],
  },
  "client/vector": {
    promise: "a vector steps all its sessions with one frame, and one's error is never another's reward",
    source: "issue 3 part 7; complaints #37, 5.8",
    tests: [
      [at("vector"), "a vector makes, resets and steps its sessions with one frame each"],
      [at("vector"), "one environment's error leaves the others their results, and no reward looks like 0"],
      [contract, "a vector loses nothing with its socket"],
    ],
  },
  "client/heartbeat": {
    promise: "a server that fell silent is asked once, with a small question, and then taken for dead",
    source: "complaints #2, #3, #9, #41",
    tests: [
      [at("reconnect"), "a peer that went silent is asked once, and then taken for dead"],
      [at("reconnect"), "a peer that answers the heartbeat keeps its socket, however long a step takes"],
      [python("reconnect"), "test_a_peer_that_went_silent_is_pinged_and_then_taken_for_dead"],
      [python("reconnect"), "test_a_peer_that_answers_pings_keeps_its_socket_however_long_a_step_takes"],
    ],
  },
  "client/nothing-left": {
    promise: "what is disposed leaves no session at the server, and nothing that keeps the client's process alive",
    source: "architecture.md §8.6; complaint #14",
    tests: [
      [contract, "what is disposed leaves no session behind"],
      [at("exit"), "a process ends by itself once its client is closed"],
    ],
  },
  "client/lossless": {
    promise: "any value goes out and comes back as it was, or is refused before anything is sent",
    source: "wire.md Values; complaint 5.7",
    tests: [
      [at("session"), "values that JSON would lose go out and come back as they were"],
      [at("session"), "a value that cannot cross the wire is refused here, and the session goes on"],
    ],
  },
  "client/loops": {
    promise:
      "the blocking client works inside of a running event loop, and the other one says when it is in a wrong one",
    source: "complaint #7",
    tests: [
      [python("sync"), "test_the_sync_client_works_inside_of_a_running_loop"],
      [python("sync"), "test_an_async_client_is_told_when_another_loop_or_no_loop_uses_it"],
    ],
  },
  "client/killed-server": {
    promise: "a client whose server was killed goes on with the next one of the same data folder",
    source: "issue 4; complaints #2, #30, 5.2",
    tests: [[python("reconnect"), "test_a_killed_server_that_comes_back_goes_on_where_it_was"]],
  },
  "client/browser": {
    promise: "the client runs in a browser, with nothing of Node in its bundle",
    source: "issue 3 part 7; architecture.md §3",
    tests: [
      [at("bundle"), "the browser bundle holds no part of Node and no other WebSocket"],
      [at("bundle"), "the bundle plays an episode with nothing but what a browser has"],
    ],
  },
} as const satisfies Record<string, Requirement>;
