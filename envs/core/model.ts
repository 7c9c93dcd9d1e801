/** What a server lends to environments that ask a language model, such as one that simulates tools. */

export interface ModelMessage {
  role: "system" | "user" | "assistant";
  content: string;
}

export interface ModelRequest {
  messages: readonly ModelMessage[];
  /** From 0. Default 0.7. */
  temperature?: number;
  /** Of the reply. Default 300. */
  maxTokens?: number;
}

export interface ModelReply {
  text: string;
  /** An equal request was answered before, maybe by another process: nothing was asked now. */
  cached: boolean;
}

/**
 * A model that whoever runs the server has configured. Equal requests get equal replies, from a cache that may outlive the
 * process, so that an episode can be played again. It is optional: environments do without it where there is none.
 */
export interface Model {
  /** Which model, as its server calls it. */
  readonly id: string;
  /** @throws ModelUnavailable, and the signal's reason when it is aborted. */
  complete(request: ModelRequest, signal: AbortSignal): Promise<ModelReply>;
}

/**
 * `timeout`, `transport` and `overloaded`: also after every retry. `refused`: the request or the key is wrong, and no retry
 * would help. `budget`: what was allowed is used up. `notRecorded`: there is only the cache, and the request is not in it.
 */
export type ModelFailure = "timeout" | "transport" | "overloaded" | "refused" | "budget" | "notRecorded";

/** The model gave no reply. Not the policy's fault: fall back to something else, or let it through. */
export class ModelUnavailable extends Error {
  override readonly name = "ModelUnavailable";
  readonly failure: ModelFailure;
  constructor(failure: ModelFailure, message: string, options?: ErrorOptions) {
    super(message, options);
    this.failure = failure;
  }
}
