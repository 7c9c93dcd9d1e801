/** Logs of chat messages with tool calls, as OpenAI's API takes and gives them; and LiveMCPBench's, which wrap one in another. */

import type { RecordedStep } from "../../trajectory.ts";
import { argumentsIn, type Draft, type Format, isObject, requestOf, textIn } from "../draft.ts";
import { parsePythonAt } from "../python.ts";
import { toolsIn } from "../tool-files.ts";

interface Call {
  tool: string;
  arguments: Record<string, unknown>;
  turn: number;
  /** Of the answer that belongs to it. */
  id: string | undefined;
}

export interface Conversation {
  /** Messages of the user. */
  asked: string[];
  steps: RecordedStep[];
}

/** @param read what came back as a tool's message. @throws Error when a call cannot be read */
export function readMessages(
  messages: readonly unknown[],
  read: (content: unknown, message: Record<string, unknown>) => Pick<RecordedStep, "output" | "isError"> = plain,
): Conversation {
  const asked: string[] = [];
  const calls: Call[] = [];
  const answers = new Map<Call, Pick<RecordedStep, "output" | "isError">>();
  for (const message of messages) {
    if (!isObject(message)) throw new Error("a message is not an object");
    const { role, content } = message;
    if (role === "user") asked.push(textIn(content));
    if (role === "assistant") calls.push(...callsOf(message, Math.max(0, asked.length - 1)));
    if (role === "tool" || role === "function") {
      const call = answered(calls, answers, message);
      if (call === undefined) throw new Error("a tool's message answers no call");
      answers.set(call, read(content, message));
    }
  }
  const steps = calls.map(({ id: _, ...call }, i) => ({ ...call, ...answers.get(calls[i] as Call) }));
  return { asked, steps };
}

function callsOf(message: Record<string, unknown>, turn: number): Call[] {
  const list: unknown[] = Array.isArray(message.tool_calls) ? message.tool_calls : [];
  // The form before tool_calls.
  const all = isObject(message.function_call) ? [{ function: message.function_call }, ...list] : list;
  return all.map((entry) => {
    const called = isObject(entry) && isObject(entry.function) ? entry.function : entry;
    if (!isObject(called) || typeof called.name !== "string") throw new Error("a call names no function");
    const id = isObject(entry) && typeof entry.id === "string" ? entry.id : undefined;
    try {
      return { tool: called.name, arguments: argumentsIn(called.arguments), turn, id };
    } catch (error) {
      throw new Error(`the arguments of ${called.name}: ${(error as Error).message}`, { cause: error });
    }
  });
}

/** By id; where there is none, by name; else the first that has no answer yet. */
function answered(
  calls: readonly Call[],
  answers: ReadonlyMap<Call, unknown>,
  { tool_call_id: id, name }: Record<string, unknown>,
): Call | undefined {
  const open = calls.filter((call) => !answers.has(call));
  if (typeof id === "string") return open.find((call) => call.id === id);
  return open.find((call) => call.tool === name) ?? (name === undefined ? open[0] : undefined);
}

function plain(content: unknown, message: Record<string, unknown>): Pick<RecordedStep, "output" | "isError"> {
  const told = message.is_error ?? message.isError;
  return { output: textIn(content), ...(typeof told === "boolean" ? { isError: told } : {}) };
}

export const openaiMessages: Format = {
  summary: 'chat messages with tool calls: {"messages": […], "tools"?: […]} or the bare list, one a line or one a file',
  whole: true,

  read(value, { line }): Draft[] {
    // A file may hold one conversation, or a list of them.
    const isMessages =
      Array.isArray(value) && value.some((item: unknown) => isObject(item) && typeof item.role === "string");
    const rows: unknown[] = Array.isArray(value) && !isMessages ? value : [value];
    return rows.map((row, i) => {
      const { messages, tools, id, success } = Array.isArray(row) ? { messages: row } : isObject(row) ? row : {};
      if (!Array.isArray(messages)) throw new Error("there are no messages");
      const { asked, steps } = readMessages(messages);
      const given = Array.isArray(tools) ? toolsIn(tools) : undefined;
      return {
        id: typeof id === "string" ? id : rows.length > 1 ? `${line}.${i + 1}` : undefined,
        source: "openai-messages",
        task: requestOf(asked),
        steps,
        tools: given ?? [],
        isComplete: given !== undefined,
        success: typeof success === "boolean" ? success : undefined,
      };
    });
  },
};

export const livemcp: Format = {
  summary: "LiveMCPBench: baseline/annotation/*.json or baseline/output/*.json; its tools.json with --tools",

  read(value): Draft[] {
    if (!isObject(value) || !Array.isArray(value.messages)) throw new Error("there are no messages");
    const { asked, steps } = readMessages(value.messages, (content) => wrapped(textIn(content)));
    const { task_id: id, Question: question, category, success } = value;
    return [
      {
        id: typeof id === "string" ? `lmb-${id.slice(0, 8)}` : undefined,
        source: "livemcpbench",
        task: typeof question === "string" ? question : requestOf(asked),
        // What is left are the searches for tools, which belong to that agent and not to the task.
        steps: steps.filter(({ tool }) => tool === "execute-tool").map(unwrapped),
        tools: [],
        family: typeof category === "string" ? category : undefined,
        success: typeof success === "boolean" ? success : undefined,
      },
    ];
  },
};

function unwrapped({ arguments: args, ...step }: RecordedStep): RecordedStep {
  const { server_name: server, tool_name: tool, params } = args;
  if (typeof server !== "string" || typeof tool !== "string") throw new Error("execute-tool names no server and tool");
  return { ...step, tool: `${server}.${tool}`, arguments: argumentsIn(params) };
}

/** A result as Python prints it, and the result of the tool inside of it. */
function wrapped(content: string): Pick<RecordedStep, "output" | "isError"> {
  const isError = /\bisError=True\s*$/.test(content);
  const texts: string[] = [];
  for (const { index, 0: found } of content.matchAll(/\btext=(?=['"])/g)) {
    try {
      const { value } = parsePythonAt(content, index + found.length);
      if (typeof value === "string") texts.push(value);
    } catch {
      // The recording was cut; what comes is shown as it is.
      return { output: content, isError };
    }
  }
  const output = texts.length > 0 ? texts.join("\n") : content;
  return isError ? { output, isError } : innerResult(output);
}

/** `{"content": [{"type": "text", "text": …}], "isError": …}` as text. */
function innerResult(text: string): Pick<RecordedStep, "output" | "isError"> {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return { output: text, isError: false };
  }
  if (!isObject(value) || !Array.isArray(value.content)) return { output: text, isError: false };
  return { output: textIn(value.content), isError: value.isError === true };
}
