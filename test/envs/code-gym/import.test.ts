import { readFileSync } from "node:fs";
import { Compression, Table, WriterPropertiesBuilder, writeParquet } from "parquet-wasm";
import { describe, expect, it } from "vitest";
import { bytesFile, importCodeGym, type ImportFile } from "../../../envs/code-gym/import.ts";
import { loadTasks } from "../../../envs/code-gym/task.ts";
import { taskFiles } from "../context.ts";
import { parcels } from "./programs.ts";

const key = "Shop_77_I__ParcelPairEnv";
const docs = ["CountParcels", "WeighParcel", "HeavierOf", "Spoil", "GetObs", "Submit"]
  .map((name) => `\nFunction:\n\ndef ${name}():\n    r"""\n    Does it.\n    """\n`)
  .join("");

function instance(fields: Record<string, unknown> = {}, extra: Record<string, unknown> = {}) {
  return {
    ability: `codegym_v1@${key}@{"weights": [4, 9], "sender": "a@b"}`,
    code_id: "Shop_77_I",
    data_source: "codegym_v1",
    prompt: [
      { role: "system", name: "functions", content: docs },
      { role: "user", name: "", content: "Write no code.\n\nQuestion:\n\nWhich two are heaviest?\n\nQuestion:\nkept" },
      { role: "assistant", name: "", content: "the solution, played" },
    ],
    reward_model: { ground_truth: null, style: "agent_env" },
    answer: "There is no answer",
    plugin_call_max_round: 256,
    extra_info: { index: "46675", gym_env: parcels, solve_fc_round: 4, qwen32b_Bo4_score: 0.25, ...extra },
    ...fields,
  };
}

const jsonl = (name: string, ...rows: unknown[]) =>
  textFile(name, rows.map((row) => (typeof row === "string" ? row : JSON.stringify(row))).join("\n"));
const textFile = (name: string, text: string) => bytesFile(name, new TextEncoder().encode(text));

async function imported(...files: ImportFile[]) {
  const written: Record<string, string> = {};
  const write = (path: string, text: string) => void (written[path] = (written[path] ?? "") + text);
  const report = await importCodeGym(files, { name: "shop" }, write);
  const tasks = await loadTasks([taskFiles(written)]);
  return { report, written, tasks };
}

describe("an import of training instances", () => {
  it("makes a dataset folder of JSONL rows with their programs inside", async () => {
    const { report, written, tasks } = await imported(jsonl("t.jsonl", instance(), "", instance()));
    expect(report).toEqual({ tasks: 2, programs: 1, problems: [] });
    expect(Object.keys(written).sort()).toEqual(["dataset.json", `programs/${key}.py`, "tasks.jsonl"]);
    expect(written[`programs/${key}.py`]).toBe(parcels);
    expect(tasks.get(`${key}/46675`)).toMatchObject({
      question: "Which two are heaviest?\n\nQuestion:\nkept",
      payload: { weights: [4, 9], sender: "a@b" },
      split: "train",
      family: "Shop",
      referenceCalls: 4,
      className: "ParcelPairEnv",
      names: { Observe: "GetObs", Done: "Submit" },
      language: "python",
    });
    expect(tasks.get(`${key}/46675-2`)).toBeDefined();
    expect(written["tasks.jsonl"]).not.toContain("the solution, played");
  });

  it("takes programs from tables and .py files, whatever the order of the files", async () => {
    const without = instance({}, { gym_env: undefined });
    const other = instance({ ability: `codegym_v1@Shop_78_I__ParcelPairEnv@{'weights': (1, 2)}` }, { gym_env: null });
    const { report, tasks } = await imported(
      jsonl("tasks.jsonl", without, other),
      jsonl("envs.jsonl", { env_code: parcels, env_name: "ParcelPairEnv", source: "Shop_77_I" }, { env_code: 1 }),
      textFile("dir/Shop_78_I__ParcelPairEnv.py", parcels),
    );
    expect(report.problems).toEqual([
      { file: "envs.jsonl", line: 2, reason: "a program has env_code, env_name and source, all text" },
    ]);
    expect(report).toMatchObject({ tasks: 2, programs: 2 });
    expect(tasks.get("Shop_78_I__ParcelPairEnv/46675")).toMatchObject({ literal: '{"weights": (1, 2)}' });
  });

  it("lists bad rows with line and reason and imports the others", async () => {
    const bad = [
      "{not json",
      "[]",
      instance({ ability: "nothing" }),
      instance({ ability: "codegym_v1@Shop_1_I__XEnv@{broken" }),
      instance({ ability: "codegym_v1@../../x__XEnv@{}" }),
      instance({ ability: "codegym_v1@Shop_1_I__OtherEnv@{}" }),
      instance({ prompt: [] }),
      instance({ prompt: [{ role: "system", content: "x" }] }),
      instance({ ability: "codegym_v1@Shop_2_I__XEnv@{}" }, { gym_env: undefined }),
    ];
    const { report } = await imported(jsonl("t.jsonl", ...bad, instance()), textFile("notes.txt", ""));
    expect(report.tasks).toBe(1);
    expect(report.problems.map(({ file, line }) => `${file}:${line}`)).toEqual([
      "notes.txt:0",
      ...bad.map((_, i) => `t.jsonl:${i + 1}`),
    ]);
    const reasons = report.problems.map(({ reason }) => reason);
    const expected = [
      /\.jsonl, \.parquet or \.py/,
      /JSON/,
      /not a JSON object/,
      /not of the form/,
      /neither JSON nor/,
      /not of the form \{code_id\}/,
      /no class OtherEnv/,
      /prompt/,
      /no user message/,
      /no gym_env/,
    ];
    expected.forEach((pattern, i) => expect(reasons[i]).toMatch(pattern));
  });

  it("gives each source its own file where rows of one program differ", async () => {
    const changed = instance({}, { index: 2, gym_env: `${parcels}\n# changed` });
    const { report, tasks } = await imported(jsonl("t.jsonl", instance(), changed));
    expect(report.programs).toBe(2);
    expect(tasks.get(`${key}/2`)?.program.path).toBe(`programs/${key}-2.py`);
  });

  it("survives a line that is not UTF-8 and lines across chunks", async () => {
    const long = new TextEncoder().encode(`${JSON.stringify(instance({ answer: "é".repeat(700_000) }))}\n`);
    const bytes = new Uint8Array([...long, 0xff, 0x0a, ...long]);
    const { report } = await imported(bytesFile("t.jsonl", bytes));
    expect(report).toMatchObject({ tasks: 2, problems: [{ line: 2 }] });
  });

  it("ends when the dataset cannot be written", async () => {
    const full = () => Promise.reject(new Error("disk full"));
    await expect(importCodeGym([jsonl("t.jsonl", instance())], { name: "x" }, full)).rejects.toThrow();
  });
});

describe("an import of Parquet", () => {
  // Three rows in the released columns, the second with a broken `ability`; an Arrow stream made with apache-arrow.
  const arrow = readFileSync(new URL("./instances.arrow", import.meta.url));

  it.each([Compression.ZSTD, Compression.SNAPPY, Compression.GZIP])(
    "reads compression %i and row groups",
    async (codec) => {
      const properties = new WriterPropertiesBuilder().setCompression(codec).setMaxRowGroupSize(2).build();
      const bytes = writeParquet(Table.fromIPCStream(arrow), properties);
      const { report, tasks } = await imported(bytesFile("train-00000.parquet", bytes));
      expect(report).toMatchObject({ tasks: 2, programs: 1, problems: [{ file: "train-00000.parquet", line: 2 }] });
      expect(tasks.get(`${key}/102`)).toMatchObject({
        question: "Which two are heaviest? (2)",
        payload: { weights: [4, 9, 2], note: "a@b" },
        referenceCalls: 5,
      });
    },
  );

  it("reports a file that is no Parquet once", async () => {
    const report = await importCodeGym([textFile("x.parquet", "not parquet at all")], { name: "x" }, () => undefined);
    expect(report.problems).toMatchObject([{ file: "x.parquet", line: 0 }]);
  });
});
