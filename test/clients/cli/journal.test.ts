import { cpSync, existsSync, mkdirSync, readFileSync, renameSync, statSync, writeFileSync } from "node:fs";
import Database from "better-sqlite3";
import { asyncBufferFromFile, parquetReadObjects } from "hyparquet";
import { connect } from "trailgym/client";
import { type Trajectory, trajectory } from "trailgym/protocol";
import { afterAll, describe, expect, test } from "vitest";
import { until } from "../../resources/events.ts";
import { closedPort } from "../../resources/port.ts";
import { type Folder, start, tempFolder, trailgym } from "./command.ts";

async function serving(data: string) {
  const started = start(["serve", "--port", "0", "--json", "--data", data]);
  const { url } = JSON.parse(await started.firstLine) as { url: string };
  return { ...started, url };
}

/** A data folder with three ended episodes and one that runs; its server is gone without a word. */
async function played(folder: Folder): Promise<string> {
  original ??= tempFolder().then(async (made) => {
    await playInto(made.join("data"));
    return made;
  });
  const data = folder.join("data");
  cpSync((await original).join("data"), data, { recursive: true });
  return data;
}

let original: Promise<Folder> | undefined;
afterAll(async () => (await original)?.[Symbol.asyncDispose]());

async function playInto(data: string): Promise<void> {
  await using server = await serving(data);
  await using client = await connect(server.url);
  for (const seed of [1, 2]) {
    const session = await client.make("countdown-v1", { options: { start: 6 } });
    await session.reset({ seed });
    for (let seq = 1; seq <= 2; seq++) {
      const extras = { logProb: -0.5 * seq, top: [1, 2] };
      await client.call("env/step", { session: session.id, seq, action: { amount: 3 }, extras });
    }
    session.detach();
  }
  await using session = await client.make("code-gym-v1");
  await session.reset({ seed: 5, task: "kitchen-order-js/2" });
  await session.step({ tool: "Menu", arguments: {} });
  await session.step({ tool: "Done", arguments: { answer: {} } });
  session.detach();
  const running = await client.make("countdown-v1");
  await running.reset({ seed: 3 });
  running.detach();
}

function lines<T>(file: string): T[] {
  const text = readFileSync(file, "utf8");
  return text
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line) as T);
}

describe("trailgym export", () => {
  test("writes what was played as JSON lines and as Parquet, with log-probs and digests", async () => {
    await using folder = await tempFolder();
    const data = await played(folder);
    const [jsonl, parquet] = [folder.join("all.jsonl"), folder.join("all.parquet")];
    for (const file of [jsonl, parquet]) {
      const { code, stderr } = await trailgym(["export", file, "--data", data]);
      expect({ code, stderr }).toEqual({ code: 0, stderr: `3 trajectories written to ${file}\n` });
    }
    const records = lines<Trajectory & { versions: object }>(jsonl);
    expect(records.map(({ env, seed, steps, status }) => [env, seed, steps, status])).toEqual([
      ["countdown-v1", 1, 2, "terminated"],
      ["countdown-v1", 2, 2, "terminated"],
      ["code-gym-v1", 5, 2, "terminated"],
    ]);
    for (const record of records) trajectory.parse(record);
    expect(records[0]).toMatchObject({
      versions: { trailgym: "0.1.0", protocol: "1" },
      ...{ options: { start: 6 }, episodeReturn: 1, task: null },
      transitions: [
        { action: { amount: 3 }, reward: 0, extras: { logProb: -0.5, top: [1, 2] } },
        { action: { amount: 3 }, reward: 1, terminated: true, extras: { logProb: -1, top: [1, 2] } },
      ],
    });
    const rows: Record<string, unknown>[] = await parquetReadObjects({ file: await asyncBufferFromFile(parquet) });
    expect(rows.map(({ env, index }) => [env, index])).toEqual(
      records.flatMap(({ env, steps }) => Array.from({ length: steps + 1 }, (_, index) => [env, index])),
    );
    const [opening, , last] = rows;
    const none = { action: null, reward: null, logProb: null };
    expect(opening).toMatchObject({ ...none, seed: 1n, options: '{"start":6}' });
    const final = records[0]?.transitions[1];
    expect(last).toMatchObject({
      ...{ episode: records[0]?.episode, index: 2, reward: 1, terminated: true, logProb: -1, ended: true },
      ...{ action: '{"amount":3}', observation: '{"remaining":0}', stateDigest: final?.stateDigest },
    });
    expect(JSON.parse(rows[6]?.["tools"] as string)).toEqual(records[2]?.tools);
  }, 60_000);

  test("leaves out what was not asked for, and writes over nothing unasked", async () => {
    await using folder = await tempFolder();
    const data = await played(folder);
    const file = folder.join("some.jsonl");
    const seeds = async (...options: string[]) => {
      const { code } = await trailgym(["export", file, "--data", data, "--force", ...options]);
      expect(code).toBe(0);
      return lines<Trajectory>(file).map(({ seed }) => seed);
    };
    expect(await seeds("--env", "code-gym-v1")).toEqual([5]);
    expect(await seeds("--running")).toEqual([1, 2, 5, 3]);
    expect(await seeds("--principal", "nobody")).toEqual([]);
    const again = await trailgym(["export", file, "--data", data]);
    expect(again).toMatchObject({ code: 1, stderr: `trailgym: ${file} is there already; --force writes over it\n` });
    const none = await trailgym(["export", folder.join("none.jsonl"), "--data", folder.join("nothing")]);
    expect(none.code).toBe(1);
    expect(none.stderr).toMatch(/there is no journal in .*nothing: no server has kept anything there/);
    expect(existsSync(folder.join("none.jsonl"))).toBe(false);
  }, 60_000);
});

describe("trailgym replay", () => {
  test("finds every trajectory as it was, and names the first step of one that is not", async () => {
    await using folder = await tempFolder();
    const file = folder.join("played.jsonl");
    await trailgym(["export", file, "--data", await played(folder)]);
    const same = await trailgym(["replay", file]);
    expect(same).toMatchObject({ code: 0, stdout: "3 the same, 0 different, 0 skipped\n" });

    const records = lines<Trajectory>(file);
    const [first, second, third] = records as [Trajectory, Trajectory, Trajectory];
    const digest = "0".repeat(32);
    Object.assign(first.transitions[1] as object, { stateDigest: digest });
    Object.assign(second.transitions[0] as object, { reward: 0.5 });
    Object.assign(third.opening, { index: 4 });
    const more = [
      {
        ...structuredClone(second),
        episode: "refused",
        transitions: [{ ...second.transitions[0], action: { amount: 9 } }],
      },
      { ...structuredClone(second), episode: "elsewhere", env: "other-v1" },
    ];
    const changed = folder.join("changed.jsonl");
    writeFileSync(changed, [...records, ...more].map((record) => JSON.stringify(record)).join("\n"));
    const { code, stdout } = await trailgym(["replay", changed]);
    expect(code).toBe(1);
    const [one, two, three, four, five, sum] = stdout.split("\n");
    expect(one).toMatch(
      new RegExp(
        `^${first.episode} \\(countdown-v1\\): differs at step 2: stateDigest was ${digest} and is [0-9a-f]{32}$`,
      ),
    );
    expect(two).toMatch(/differs at step 1: reward was 0.5 and is 0$/);
    expect(three).toMatch(/\(code-gym-v1\): skipped, its beginning is no longer kept$/);
    expect(four).toMatch(/^refused .*differs at step 1: error was null and is INVALID_ACTION: /);
    expect(five).toMatch(/^elsewhere \(other-v1\): skipped, the server has no such environment$/);
    expect(sum).toBe("0 the same, 3 different, 2 skipped");
    const json = await trailgym(["replay", changed, "--json", "--limit", "2"]);
    expect(JSON.parse(json.stdout)).toMatchObject({
      replayed: 2,
      differ: [{ difference: { index: 2 } }, {}],
      skipped: [],
    });
  }, 60_000);

  test("takes what eval wrote, and refuses what is no trajectory", async () => {
    await using folder = await tempFolder();
    const out = folder.join("out");
    await trailgym(["eval", "--env", "countdown-v1", "--agent", "random", "--episodes", "3", "--out", out, "--json"]);
    const { code, stdout } = await trailgym(["replay", `${out}/trajectories.jsonl`]);
    expect({ code, stdout }).toEqual({ code: 0, stdout: "3 the same, 0 different, 0 skipped\n" });
    const file = folder.join("bad.jsonl");
    for (const [text, problem] of [
      ["nonsense", "not JSON"],
      ['\n{"env":"x-v1"}', "not a trajectory"],
    ] as const) {
      writeFileSync(file, text);
      const bad = await trailgym(["replay", file]);
      expect(bad.code).toBe(1);
      expect(bad.stderr).toContain(`trailgym: ${file}:${text.startsWith("\n") ? 2 : 1}: ${problem}`);
    }
  }, 60_000);
});

describe("trailgym journal", () => {
  test("check finds a sound journal sound, also while a server uses it", async () => {
    await using folder = await tempFolder();
    const data = await played(folder);
    await using _server = await serving(data);
    const { code, stdout } = await trailgym(["journal", "check", "--data", data]);
    expect(code).toBe(0);
    expect(stdout).toMatch(/: 4 open and 0 ended sessions, 4 episodes, 10 commits, 0 snapshots, [\d.]+ MB\nsound\n$/);
    const json = await trailgym(["journal", "check", "--data", data, "--json"]);
    expect(JSON.parse(json.stdout)).toMatchObject({ openSessions: 4, commits: 10, problems: [] });
  }, 60_000);

  test.each([
    ["a changed state", "UPDATE heads SET state = '{}' WHERE session = 1", /session s-.* is damaged: its digest/],
    [
      "a lost step",
      "DELETE FROM commits WHERE id = (SELECT last_commit FROM episodes WHERE last_index = 2 LIMIT 1)",
      /has lost its|has 0 of 2 transitions/,
    ],
    [
      "a step too many",
      "INSERT INTO commits (session, seq, call, result) VALUES (1, 9, '', '')",
      /1 of 11 commits belong to no episode/,
    ],
    ["a session without a value", "DELETE FROM heads WHERE session = 2", /session s-.* has no value/],
  ])(
    "check names %s",
    async (_what, sql, problem) => {
      await using folder = await tempFolder();
      const data = await played(folder);
      const db = new Database(`${data}/journal.sqlite`);
      db.exec(sql);
      db.close();
      const { code, stdout } = await trailgym(["journal", "check", "--data", data]);
      expect(code).toBe(1);
      expect(stdout).toMatch(problem);
      expect(stdout).toMatch(/damaged: put a copy back/);
    },
    60_000,
  );

  test("compact lets old episodes go and the file shrink, but not under a server", async () => {
    await using folder = await tempFolder();
    const data = folder.join("data");
    {
      await using server = await serving(data);
      await using client = await connect(server.url);
      for (let i = 0; i < 20; i++) {
        await using session = await client.make("countdown-v1", { options: { start: 100 } });
        await session.reset({ seed: i });
        for (let step = 0; step < 100; step++) await session.step({ amount: 1 });
      }
      const { code, stderr } = await trailgym(["journal", "compact", "--data", data]);
      expect({ code, stderr }).toEqual({
        code: 1,
        stderr: `trailgym: ${data} is in use by process ${server.child.pid}: stop that one, or use another data folder\n`,
      });
    }
    const kept = await trailgym(["journal", "compact", "--data", data]);
    expect(kept.stdout).toMatch(/^[\d.]+ MB before, [\d.]+ MB now\n$/);
    const before = statSync(`${data}/journal.sqlite`).size;
    const gone = await trailgym(["journal", "compact", "--data", data, "--keep-days", "0"]);
    expect(gone.code).toBe(0);
    expect(statSync(`${data}/journal.sqlite`).size).toBeLessThan(before / 3);
    const { stdout } = await trailgym(["journal", "check", "--data", data]);
    expect(stdout).toMatch(/0 open and 20 ended sessions, 0 episodes, 0 commits/);
  }, 60_000);

  test("export makes a copy under a running server, from which another goes on", async () => {
    await using folder = await tempFolder();
    const data = folder.join("data");
    const copy = folder.join("copy.sqlite");
    let id: string;
    {
      await using server = await serving(data);
      await using client = await connect(server.url);
      const session = await client.make("countdown-v1");
      await session.reset({ seed: 1 });
      await session.step({ amount: 1 });
      id = session.id;
      session.detach();
      const { code, stderr } = await trailgym(["journal", "export", copy, "--data", data]);
      expect({ code, stderr: stderr.includes(copy) }).toEqual({ code: 0, stderr: true });
      const again = await trailgym(["journal", "export", copy, "--data", data]);
      expect(again).toMatchObject({ code: 1, stderr: `trailgym: ${copy} is there already\n` });
    }
    mkdirSync(folder.join("other"));
    renameSync(copy, folder.join("other", "journal.sqlite"));
    await using server = await serving(folder.join("other"));
    await using client = await connect(server.url);
    const session = await client.attach(id);
    expect(await session.step({ amount: 1 })).toMatchObject({ index: 2, observation: { remaining: 3 } });
  }, 60_000);
});

test("a server keeps its sessions in a folder of its port, and says where", async () => {
  await using folder = await tempFolder();
  const env = { XDG_DATA_HOME: folder.path };
  const port = String(await closedPort());
  let id: string;
  {
    await using server = start(["serve", "--port", port, "--json"], { env });
    await using client = await connect((JSON.parse(await server.firstLine) as { url: string }).url);
    const session = await client.make("countdown-v1");
    await session.reset({ seed: 1 });
    id = session.id;
    session.detach();
    expect(existsSync(folder.join("trailgym", port, "journal.sqlite"))).toBe(true);
  }
  await using server = start(["serve", "--port", port], { env });
  let said = "";
  server.child.stderr.on("data", (chunk: Buffer) => (said += chunk.toString()));
  await server.firstLine;
  await until(() => said.includes(`kept in ${folder.join("trailgym", port)}`));
  await using client = await connect(`ws://127.0.0.1:${port}/rpc`);
  expect(await (await client.attach(id)).observe()).toMatchObject({ status: "running", seq: 1 });
  const check = await trailgym(["journal", "check", "--port", port], { env });
  expect(check.stdout).toContain("1 open and 0 ended sessions");
}, 30_000);
