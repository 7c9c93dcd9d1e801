/** The method table, in the order in which the documents list them. */

import type { z } from "zod";
import { cancel } from "./cancel.ts";
import { envClose } from "./env-close.ts";
import { envFork } from "./env-fork.ts";
import { envList } from "./env-list.ts";
import { envMake } from "./env-make.ts";
import { envObserve } from "./env-observe.ts";
import { envReset } from "./env-reset.ts";
import { envRestore } from "./env-restore.ts";
import { envSnapshot } from "./env-snapshot.ts";
import { envStep } from "./env-step.ts";
import { envTasks } from "./env-tasks.ts";
import { initialize } from "./initialize.ts";
import { ping } from "./ping.ts";
import { progress } from "./progress.ts";
import { rpcDiscover } from "./rpc-discover.ts";
import { sessionAttach } from "./session-attach.ts";
import { sessionList } from "./session-list.ts";
import { trajectoryGet } from "./trajectory-get.ts";

const all = [
  initialize,
  rpcDiscover,
  ping,
  envList,
  envTasks,
  envMake,
  envReset,
  envStep,
  envObserve,
  envSnapshot,
  envRestore,
  envFork,
  envClose,
  sessionAttach,
  sessionList,
  trajectoryGet,
] as const;

type All = (typeof all)[number];
export type MethodName = All["name"];
export type MethodOf<N extends MethodName> = Extract<All, { name: N }>;
export type ParamsOf<N extends MethodName> = z.input<MethodOf<N>["params"]>;
export type ResultOf<N extends MethodName> = z.output<MethodOf<N>["result"]>;

export const methods = Object.fromEntries(all.map((method) => [method.name, method])) as {
  readonly [N in MethodName]: MethodOf<N>;
};

export const notifications = [cancel, progress] as const;
