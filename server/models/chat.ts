/** One question to an OpenAI-compatible server: what is sent, what may come back, and whose fault a failure is. */

import { type ModelFailure, type ModelRequest, ModelUnavailable } from "trailgym/env";
import { z } from "zod";

export interface ChatServer {
  /** `http://host:port/v1`, or the whole address of its `chat/completions`. */
  url: string;
  /** As that server calls it. */
  model: string;
  /** Sent as a bearer token; in no message and no log. */
  key?: string | undefined;
}

/** Far more than any reply of a few hundred tokens. */
const MAX_REPLY_BYTES = 4 * 2 ** 20;
const MAX_RETRY_AFTER_MS = 60_000;

const reply = z.object({
  choices: z.array(z.object({ message: z.object({ content: z.string().nullish() }) })).min(1),
});

/** A failure that another attempt may not have. */
export class Retryable extends ModelUnavailable {
  /** As the server wishes. */
  readonly retryAfterMs: number | undefined;
  constructor(failure: ModelFailure, message: string, retryAfterMs?: number, options?: ErrorOptions) {
    super(failure, message, options);
    this.retryAfterMs = retryAfterMs;
  }
}

/**
 * @param timeoutMs of this attempt.
 * @throws Retryable, ModelUnavailable, and the signal's reason when it is aborted
 */
export async function ask(
  server: ChatServer,
  request: ModelRequest,
  timeoutMs: number,
  signal: AbortSignal,
): Promise<string> {
  const limited = AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]);
  try {
    const response = await fetch(addressOf(server.url), {
      method: "POST",
      headers: {
        "content-type": "application/json",
        ...(server.key ? { authorization: `Bearer ${server.key}` } : {}),
      },
      body: JSON.stringify({
        model: server.model,
        messages: request.messages,
        temperature: request.temperature ?? 0.7,
        max_tokens: request.maxTokens ?? 300,
      }),
      // A key is for the server that it was given for.
      redirect: "error",
      signal: limited,
    });
    const text = await bounded(response);
    if (!response.ok) throw failed(server, response, text);
    return contentOf(text);
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof ModelUnavailable) throw error;
    if (limited.aborted) throw new Retryable("timeout", `no reply within ${timeoutMs} ms`);
    throw new Retryable("transport", `${addressOf(server.url)}: ${causeOf(error)}`, undefined, { cause: error });
  }
}

function addressOf(url: string): string {
  const bare = url.replace(/\/+$/, "");
  return bare.endsWith("/chat/completions") ? bare : `${bare}/chat/completions`;
}

async function bounded(response: Response): Promise<string> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of (response.body ?? []) as AsyncIterable<Uint8Array>) {
    size += chunk.byteLength;
    if (size > MAX_REPLY_BYTES) throw new Retryable("transport", `a reply of more than ${MAX_REPLY_BYTES} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString("utf8");
}

function failed({ key }: ChatServer, response: Response, text: string): ModelUnavailable {
  const { status } = response;
  // What a server says of a wrong key may hold the key.
  const said = status === 401 || status === 403 ? "" : `: ${text.slice(0, 200).replaceAll(key || "\0", "…")}`;
  const message = `the model's server answers ${status}${said}`;
  const retryAfter = retryAfterMs(response.headers.get("retry-after"));
  if (status === 429 || status === 503 || status === 529) return new Retryable("overloaded", message, retryAfter);
  if (status === 408 || status === 425 || status >= 500) return new Retryable("transport", message, retryAfter);
  return new ModelUnavailable("refused", message);
}

/** Seconds, or a date. */
function retryAfterMs(header: string | null): number | undefined {
  if (header === null) return undefined;
  const ms = /^\d+$/.test(header.trim()) ? Number(header) * 1000 : Date.parse(header) - Date.now();
  return Number.isFinite(ms) ? Math.min(Math.max(0, ms), MAX_RETRY_AFTER_MS) : undefined;
}

/** Models that think aloud do it in front of their answer. */
function contentOf(text: string): string {
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch {
    throw new Retryable("transport", "the model's server answers with something that is not JSON");
  }
  const read = reply.safeParse(json);
  if (!read.success) throw new Retryable("transport", "the model's server answers without a message");
  return (read.data.choices[0]?.message.content ?? "").replace(/^\s*<think>[\s\S]*?<\/think>/, "").trim();
}

function causeOf(error: unknown): string {
  const { message, cause } = error instanceof Error ? error : new Error(String(error));
  return cause instanceof Error ? `${message} (${cause.message})` : message;
}
