import { checkEnv } from "trailgym/env";
import { describe, expect, it } from "vitest";
import { textFile } from "../../../../envs/mcp-tools/import/documents.ts";
import { type FormatName, formatNames } from "../../../../envs/mcp-tools/import/formats/formats.ts";
import { type ImportOptions, importTrajectories } from "../../../../envs/mcp-tools/import/import.ts";
import env from "../../../../envs/mcp-tools/mcp-tools.env.ts";
import { loadTasks } from "../../../../envs/mcp-tools/task.ts";
import { taskFiles } from "../../context.ts";
import { jsonl } from "../small.ts";

type Files = Record<string, unknown>;

/** A list of lines, or one document. */
const opened = (files: Files) =>
  Object.entries(files).map(([name, value]) => {
    const text =
      typeof value === "string"
        ? value
        : name.endsWith(".jsonl")
          ? jsonl(value as unknown[])
          : JSON.stringify(value, null, 1);
    return textFile(name, text);
  });

async function run(
  format: FormatName,
  files: Files,
  { tools, ...options }: Partial<Omit<ImportOptions, "tools">> & { tools?: Files } = {},
) {
  const written: Record<string, string> = {};
  const result = await importTrajectories(
    format,
    opened(files),
    { name: "imported", distractors: 0, ...options, ...(tools ? { tools: opened(tools) } : {}) },
    (path, text) => void (written[path] = (written[path] ?? "") + text),
  );
  const lines = (written["tasks.jsonl"] ?? "")
    .split("\n")
    .filter(Boolean)
    .map((line) => JSON.parse(line) as Record<string, unknown>);
  return { ...result, written, lines, load: () => loadTasks([taskFiles(written)]) };
}

/** What is wrong with a dataset according to `check-env`. */
async function findings(written: Record<string, string>) {
  return (await checkEnv(env, { files: [taskFiles(written)], tasks: 99, seeds: [0] })).findings;
}

const object = (properties: object, required: string[] = []) => ({ type: "object", properties, required });

describe("TRAJECT-Bench", () => {
  const call = (tool: string, required: [string, unknown][], output: string, more: object = {}) => ({
    "tool name": tool,
    "tool description": `Does ${tool}.`,
    "required parameters": required.map(([name, value]) => ({ name, value })),
    "optional parameters": [{ name: "page", value: "" }],
    "parent tool name": tool.split(":")[0],
    "domain name": "Music",
    execution_status: "success",
    executed_output: output,
    ...more,
  });
  const rows = [
    {
      query: "Find a channel.",
      "tool list": [call("Radio: Get", [["id", "7"]], "[]"), call("Song: search", [["q", "a"]], "one")],
    },
    {
      query: "Find another.",
      "tool list": [call("Radio: Get", [["id", "8"]], "[]"), call("Song: search", [["q", "b"]], "two")],
    },
    { query: "Fail.", "tool list": [call("Radio: Get", [["id", "9"]], "gone", { execution_status: "failed" })] },
    {
      query: "Be wrong.",
      "tool list": [call("Radio: Get", [["id", "0"]], "{'message': 'You are not subscribed to this API.'}")],
    },
    { query: "No list." },
  ];
  const files = { "public_data/sequential/Music/traj_query.json": rows };

  it("becomes tasks with their chains, and what failed is counted apart", async () => {
    const { lines, tasks, chains, failed, apiErrors, problems } = await run("traject-bench", files);
    expect([tasks, chains, failed, apiErrors]).toEqual([3, 2, 1, 0]);
    expect(problems).toEqual([
      { file: Object.keys(files)[0], line: expect.any(Number) as number, reason: "there is no query with a tool list" },
    ]);
    expect(lines[0]).toMatchObject({
      id: "Music/traj_query/2",
      source: "traject-bench/sequential/Music",
      task: "Find a channel.",
      family: "Music",
      reference: [
        { arguments: { id: "7" }, output: "[]", isError: false },
        { arguments: { q: "a" }, output: "one", isError: false },
      ],
    });
    expect(lines[0]?.chain).toBe(lines[1]?.chain);
    expect(lines[0]?.chain).not.toBe(lines[2]?.chain);
    expect(lines[0]?.split).toBe(lines[1]?.split);
  });

  it("keeps what failed where that is asked for", async () => {
    const { lines } = await run("traject-bench", files, { keepFailed: true });
    expect(lines.find(({ task }) => task === "Fail.")).toMatchObject({
      success: false,
      reference: [{ isError: true }],
    });
  });

  it("leaves out what only counts as a success where that is asked for", async () => {
    const { lines, apiErrors } = await run("traject-bench", files, { strict: true });
    expect(apiErrors).toBe(1);
    expect(lines.map(({ task }) => task)).toEqual(["Find a channel.", "Find another."]);
  });

  it("has the tools' own names as titles, and under names that model APIs take", async () => {
    const { written, load } = await run("traject-bench", files);
    const tools = JSON.parse(written["tools.json"] ?? "") as { name: string; title: string; inputSchema: unknown }[];
    expect(tools.map(({ title }) => title).toSorted()).toEqual(["Radio: Get", "Song: search"]);
    expect(tools[0]?.name).toMatch(/^Radio_Get_[0-9a-f]{8}$/);
    expect(tools[0]?.inputSchema).toMatchObject({ properties: { id: {}, page: {} }, required: ["id"] });
    expect((await load()).size("train")).toBeGreaterThan(0);
    expect(await findings(written)).toEqual([]);
  });
});

describe("BFCL multi-turn", () => {
  const question = {
    id: "multi_turn_base_0",
    question: [[{ role: "user", content: "Go to docs." }], [{ role: "user", content: "Sort it, and tell Bob." }]],
    initial_config: {},
    involved_classes: ["GorillaFileSystem", "MessageAPI"],
    excluded_function: ["cp"],
  };
  const answer = {
    id: "multi_turn_base_0",
    ground_truth: [
      ["cd(folder='docs')"],
      ["sort('final.pdf')", "send_message(receiver_id='B', message=\"it's, done\")"],
    ],
  };
  const doc = (name: string, ...parameters: string[]) => ({
    name,
    description: `Does ${name}.`,
    parameters: {
      type: "dict",
      properties: Object.fromEntries(parameters.map((key) => [key, { type: "string" }])),
      required: parameters,
    },
    response: { type: "dict", properties: {} },
  });
  const files = {
    "BFCL_v4_multi_turn_base.json": jsonl([question]),
    "possible_answer/BFCL_v4_multi_turn_base.json": jsonl([answer]),
    "multi_turn_func_doc/gorilla_file_system.json": jsonl([
      doc("cd", "folder"),
      doc("sort", "file_name"),
      doc("cp", "source"),
      doc("ls"),
    ]),
    "multi_turn_func_doc/message_api.json": jsonl([doc("send_message", "receiver_id", "message")]),
    "multi_turn_func_doc/math_api.json": jsonl([doc("mean", "numbers")]),
  };

  it("joins questions, answers and functions, in any order of the files", async () => {
    for (const order of [files, Object.fromEntries(Object.entries(files).reverse())]) {
      const { lines, problems, written } = await run("bfcl", order);
      expect(problems).toEqual([]);
      expect(lines).toMatchObject([
        {
          id: "multi_turn_base_0",
          task: "[1] Go to docs.\n[2] Sort it, and tell Bob.",
          tools: ["GorillaFileSystem.cd", "GorillaFileSystem.ls", "GorillaFileSystem.sort", "MessageAPI.send_message"],
          reference: [
            { tool: "GorillaFileSystem.cd", arguments: { folder: "docs" }, turn: 0 },
            { tool: "GorillaFileSystem.sort", arguments: { file_name: "final.pdf" }, turn: 1 },
            { tool: "MessageAPI.send_message", arguments: { receiver_id: "B", message: "it's, done" }, turn: 1 },
          ],
        },
      ]);
      expect(await findings(written)).toEqual([]);
    }
  });

  it("says which files are missing", async () => {
    const { "BFCL_v4_multi_turn_base.json": questions, "possible_answer/BFCL_v4_multi_turn_base.json": answers } =
      files;
    const alone = await run("bfcl", { "q.json": questions });
    expect(alone.problems).toMatchObject([
      { file: "q.json", line: 1, reason: expect.stringMatching(/possible_answer/) as string },
    ]);
    const without = await run("bfcl", { "q.json": questions, "a.json": answers });
    expect(without.problems).toMatchObject([
      {
        reason: expect.stringMatching(
          /sort is called without names of parameters: give the multi_turn_func_doc/,
        ) as string,
      },
    ]);
  });
});

describe("LiveMCPBench", () => {
  const shown = (text: string, isError = false) =>
    `meta=None content=[TextContent(type='text', text=${text}, annotations=None)] isError=${isError ? "True" : "False"}`;
  const execute = (id: string, server: string, tool: string, params: object) => ({
    role: "assistant",
    content: null,
    tool_calls: [
      {
        id,
        type: "function",
        function: { name: "execute-tool", arguments: JSON.stringify({ server_name: server, tool_name: tool, params }) },
      },
    ],
  });
  const row = {
    task_id: "0e3287cb-c0ff",
    Question: "Chart the words.",
    category: "work",
    messages: [
      { role: "system", content: "You are…" },
      { role: "user", content: "Chart the words." },
      {
        role: "assistant",
        tool_calls: [{ id: "r", type: "function", function: { name: "route", arguments: '{"query":"chart"}' } }],
      },
      { role: "tool", tool_call_id: "r", content: shown("'found'") },
      execute("1", "chart", "pie", { data: [1] }),
      {
        role: "tool",
        tool_call_id: "1",
        content: shown(`'{\\n "content": [{"type": "text", "text": "it\\'s drawn"}],\\n "isError": false}'`),
      },
      execute("2", "web", "open", {}),
      {
        role: "tool",
        tool_call_id: "2",
        content: shown(`"{\\"content\\":[{\\"type\\":\\"text\\",\\"text\\":\\"no browser\\"}],\\"isError\\":true}"`),
      },
      execute("3", "web", "open", { url: "x" }),
      { role: "tool", tool_call_id: "3", content: shown("'Error executing tool'", true) },
      { role: "assistant", content: "Done." },
    ],
  };
  const tools = {
    "tools.json": [
      {
        name: "Charts",
        tools: {
          chart: { tools: [{ name: "pie", description: "Draws.", inputSchema: object({ data: { type: "array" } }) }] },
        },
      },
    ],
  };

  it("has the tools' calls out of what they are wrapped in, and their results", async () => {
    const { lines, written } = await run("livemcp", { "annotation.json": [row] }, { tools });
    expect(lines).toMatchObject([
      {
        id: "lmb-0e3287cb",
        task: "Chart the words.",
        family: "work",
        reference: [
          { tool: "chart.pie", arguments: { data: [1] }, output: "it's drawn", isError: false },
          { tool: "web.open", output: "no browser", isError: true },
          { tool: "web.open", arguments: { url: "x" }, output: "Error executing tool", isError: true },
        ],
      },
    ]);
    expect(written["tools.json"]).toContain('"Draws."');
    expect(await findings(written)).toEqual([]);
  });

  it("keeps a result as it is where the recording was cut", async () => {
    const cut = {
      ...row,
      messages: [
        row.messages[1],
        execute("1", "a", "b", {}),
        { role: "tool", tool_call_id: "1", content: "meta=None content=[TextContent(type='text', text='half" },
      ],
    };
    const { lines } = await run("livemcp", { "a.json": [cut] });
    expect(lines[0]).toMatchObject({
      reference: [{ output: "meta=None content=[TextContent(type='text', text='half" }],
    });
  });
});

describe("ATIF", () => {
  const trajectory = (more: object = {}) => ({
    schema_version: "ATIF-v1.6",
    session_id: "s-1",
    agent: { name: "harbor-agent", version: "1" },
    steps: [
      { step_id: 1, source: "system", message: "Be good." },
      { step_id: 2, source: "user", message: "What is the price?" },
      {
        step_id: 3,
        source: "agent",
        message: "I look.",
        tool_calls: [
          { tool_call_id: "b", function_name: "search", arguments: { metric: "volume" } },
          { tool_call_id: "a", function_name: "search", arguments: { metric: "price" } },
        ],
        observation: {
          results: [
            { source_call_id: "a", content: "185" },
            { source_call_id: "b", content: [{ type: "text", text: "1.5M" }] },
          ],
        },
      },
      { step_id: 4, source: "user", message: [{ type: "text", text: "And now?" }] },
      {
        step_id: 5,
        source: "agent",
        message: "",
        tool_calls: [{ tool_call_id: "c", function_name: "note", arguments: {} }],
        observation: { results: [{ content: "noted" }] },
      },
    ],
    ...more,
  });

  it("has each result with its call, whatever their order", async () => {
    const { lines, written } = await run("atif", { "trajectory.json": trajectory() });
    expect(lines).toMatchObject([
      {
        id: "s-1",
        source: "atif/harbor-agent",
        task: "[1] What is the price?\n[2] And now?",
        reference: [
          { tool: "search", arguments: { metric: "volume" }, output: "1.5M", turn: 0 },
          { tool: "search", arguments: { metric: "price" }, output: "185", turn: 0 },
          { tool: "note", arguments: {}, output: "noted", turn: 1 },
        ],
      },
    ]);
    expect(await findings(written)).toEqual([]);
  });

  it("takes the agent's own list of tools for complete", async () => {
    const tool_definitions = ["search", "note", "other"].map((name) => ({
      type: "function",
      function: { name, description: name, parameters: object({}) },
    }));
    const agent = { name: "x", version: "1", tool_definitions };
    const { lines } = await run(
      "atif",
      { "t.jsonl": [trajectory({ agent }), trajectory({ session_id: "s-2", agent, steps: [] })] },
      { distractors: 5 },
    );
    expect(lines[0]?.tools).toEqual(["note", "other", "search"]);
  });

  it("is told by its version, and by what it must have", async () => {
    const { problems } = await run("atif", {
      "t.jsonl": [
        { steps: [] },
        trajectory({ schema_version: "ATIF-v2.0" }),
        trajectory({ steps: 5 }),
        trajectory({ steps: [{ step_id: 1, source: "agent", tool_calls: [{}] }] }),
      ],
    });
    expect(problems.map(({ reason }) => reason)).toEqual([
      "there is no schema_version of ATIF-v1",
      "there is no schema_version of ATIF-v1",
      "there are no steps",
      "a call names no function",
    ]);
  });
});

describe("chat messages", () => {
  const user = { role: "user", content: "Find it." };
  const calls = (...list: [string, string, string][]) => ({
    role: "assistant",
    content: null,
    tool_calls: list.map(([id, name, args]) => ({ id, type: "function", function: { name, arguments: args } })),
  });
  const reply = (tool_call_id: string, content: unknown) => ({ role: "tool", tool_call_id, content });
  const conversation = [
    user,
    calls(["1", "find", '{"q":"x"}'], ["2", "open", ""]),
    reply("2", "opened"),
    reply("1", [{ type: "text", text: "found" }]),
    { role: "assistant", content: "Here." },
  ];
  const wanted = [
    { tool: "find", arguments: { q: "x" }, output: "found", turn: 0 },
    { tool: "open", arguments: {}, output: "opened", turn: 0 },
  ];

  it.each<[string, Files]>([
    ["as rows with a list inside", { "a.jsonl": [{ id: "c", messages: conversation }] }],
    ["as rows that are lists", { "a.jsonl": [conversation] }],
    ["as a file that is one", { "a.json": conversation }],
    ["as a file of several", { "a.json": [{ messages: conversation }] }],
  ])("are read %s", async (_, files) => {
    const { lines, problems } = await run("openai-messages", files);
    expect(problems).toEqual([]);
    expect(lines).toMatchObject([{ task: "Find it.", reference: wanted }]);
  });

  it("are read in the form before tool calls", async () => {
    const old = [
      user,
      { role: "assistant", function_call: { name: "find", arguments: '{"q":"x"}' } },
      { role: "function", name: "find", content: "found" },
    ];
    const { lines } = await run("openai-messages", { "a.jsonl": [{ messages: old }] });
    expect(lines[0]?.reference).toEqual([wanted[0]]);
  });

  it("bring their tools, which are then all that there are", async () => {
    const tools = ["find", "open", "third"].map((name) => ({
      type: "function",
      function: { name, description: `Does ${name}.`, parameters: object({}) },
    }));
    const { lines, written } = await run(
      "openai-messages",
      { "a.jsonl": [{ messages: conversation, tools }] },
      { distractors: 9 },
    );
    expect(lines[0]?.tools).toEqual(["find", "open", "third"]);
    expect(await findings(written)).toEqual([]);
  });

  it("that cannot be read are listed with the reason, each with its line", async () => {
    const rows = [
      { messages: [user] },
      { messages: [user, calls(["1", "find", "{"])] },
      { messages: [user, calls(["1", "find", "[1]"])] },
      { messages: [user, reply("9", "x")] },
      { messages: [user, { role: "assistant", tool_calls: [{ id: "1" }] }] },
      { messages: ["hello"] },
      { text: "x" },
      { messages: [calls(["1", "find", "{}"])] },
    ];
    const { problems, tasks } = await run("openai-messages", { "a.jsonl": rows });
    expect(tasks).toBe(0);
    expect(problems.map(({ line, reason }) => `${line} ${reason}`)).toEqual([
      "1 no tool is called",
      expect.stringMatching(/^2 the arguments of find: .*JSON/) as string,
      "3 the arguments of find: the arguments of a call are not an object",
      "4 a tool's message answers no call",
      "5 a call names no function",
      "6 a message is not an object",
      "7 there are no messages",
      "8 task: Too small: expected string to have >=1 characters",
    ]);
  });
});

describe("our own trajectories", () => {
  const line = (id: string, more: object = {}) => ({
    id,
    task: `Do ${id}.`,
    tools: [{ name: "a", description: "Does a." }],
    reference: [{ tool: "a", arguments: { n: 1 }, output: id }],
    ...more,
  });

  it("come back as tasks, with tools that other files describe better", async () => {
    const tools = {
      "tools.json": {
        a: { description: "Does a well.", inputSchema: object({ n: { type: "integer" } }) },
        b: { description: "B.", inputSchema: object({}) },
      },
    };
    const { lines, written, load } = await run(
      "trajectories",
      { "a.jsonl": [line("x", { candidates: ["b"], chain: "c1" }), line("y", { split: "test", success: true })] },
      { tools },
    );
    expect(lines).toMatchObject([
      { id: "x", chain: "c1", tools: ["a"] },
      { id: "y", split: "test" },
    ]);
    expect((await load()).get("x")?.tools[0]).toMatchObject({
      description: "Does a well.",
      inputSchema: object({ n: { type: "integer" } }),
    });
    expect(await findings(written)).toEqual([]);
  });

  it("keep good rows and list bad ones, repeated ones among them", async () => {
    const text = `${JSON.stringify(line("x"))}\nnot json\n${JSON.stringify(line("x", { tools: [] }))}\n${JSON.stringify({ id: "z" })}\n${JSON.stringify(line("x", { task: "Another." }))}`;
    const { lines, problems } = await run("trajectories", { "a.jsonl": text });
    expect(lines.map(({ id }) => id)).toEqual(["x", "x-2"]);
    expect(problems.map(({ line: at, reason }) => `${at} ${reason}`)).toEqual([
      expect.stringMatching(/^2 not JSON/) as string,
      "3 the same as line 1",
      expect.stringMatching(/^4 task: .*; reference: /) as string,
    ]);
  });

  it("have distractors, fixed for each task, where their tools are not all there were", async () => {
    const tools = {
      "t.json": Object.fromEntries(
        Array.from({ length: 30 }, (_, i) => [`t${i}`, { description: "T.", inputSchema: object({}) }]),
      ),
    };
    const files = { "a.jsonl": [line("x"), line("y")] };
    const { lines } = await run("trajectories", files, { tools, distractors: 5 });
    expect(lines[0]?.tools).toHaveLength(6);
    expect(lines[0]?.tools).toContain("a");
    expect(lines[0]?.tools).not.toEqual(lines[1]?.tools);
    expect((await run("trajectories", files, { tools, distractors: 5 })).lines).toEqual(lines);
  });

  it("are parted by chain, or as is said", async () => {
    const many = Array.from({ length: 40 }, (_, i) =>
      line(`x${i}`, { chain: `c${i % 10}`, task: `Do ${i % 20}, ${i}.` }),
    );
    const splitOf = async (split?: ImportOptions["split"]) =>
      (await run("trajectories", { "a.jsonl": many }, split === undefined ? {} : { split })).lines.map(
        ({ split: one }) => one as string,
      );
    const byChain = await splitOf();
    expect(byChain.filter((split) => split === "test")).toHaveLength(8);
    for (const [i, split] of byChain.entries()) expect(split).toBe(byChain[i % 10]);
    expect(new Set(await splitOf("mine"))).toEqual(new Set(["mine"]));
    expect((await splitOf({ by: "task", test: 0.5 })).filter((split) => split === "test")).toHaveLength(20);
  });

  it("may be only the first so many", async () => {
    const { lines, tasks, problems } = await run(
      "trajectories",
      { "a.jsonl": [line("x"), line("y"), line("z"), 5] },
      { limit: 2 },
    );
    expect([lines.length, tasks, problems.length]).toEqual([2, 2, 1]);
  });

  it("of a file that cannot be read are one problem, and the other files are imported", async () => {
    const broken = {
      name: "gone.jsonl",
      chunks: () => {
        throw Object.assign(new Error("no such file"), { code: "ENOENT" });
      },
    };
    const written: string[] = [];
    const result = await importTrajectories(
      "trajectories",
      [broken, textFile("a.jsonl", JSON.stringify(line("x")))],
      { name: "x" },
      (path) => void written.push(path),
    );
    expect(result.problems).toEqual([{ file: "gone.jsonl", line: 0, reason: "no such file" }]);
    expect(result.tasks).toBe(1);
  });

  it("that cannot be written are the writer's failure", async () => {
    const work = importTrajectories(
      "trajectories",
      [textFile("a.jsonl", JSON.stringify(line("x")))],
      { name: "x" },
      () => Promise.reject(new Error("disk full")),
    );
    await expect(work).rejects.toThrow("disk full");
  });
});

it("every format lists what it cannot read, and throws for nothing", async () => {
  const junk = [
    "null",
    "7",
    '"x"',
    "[]",
    "{}",
    '{"messages":5}',
    '{"id":"x","question":{}}',
    '{"query":"x","tool list":[5]}',
    '{"id":1,"reference":{}}',
    '{"schema_version":"ATIF-v1.4","steps":[5]}',
    '{"messages":[{"role":"assistant","tool_calls":[null]}]}',
    "{",
  ].join("\n");
  for (const format of formatNames) {
    const { tasks, problems } = await run(format, { "junk.jsonl": junk });
    expect([format, tasks]).toEqual([format, 0]);
    expect(problems.length, format).toBeGreaterThanOrEqual(11);
  }
});
