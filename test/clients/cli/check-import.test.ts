import { execFile } from "node:child_process";
import { mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import path from "node:path";
import { promisify } from "node:util";
import { describe, expect, test } from "vitest";
import { tempFolder, trailgym } from "./command.ts";

/** A program in the released format, written for this test. */
const program = `
import json
import gymnasium

class LampEnv(gymnasium.Env):
    def __init__(self, env_str=None):
        self.func_mapping = {"Press": 0, "Look": 1, "Observe": 2, "Done": 3}
        self.reset()

    @property
    def finished(self):
        return self._done

    @property
    def reward(self):
        return float(self._reward)

    @staticmethod
    def from_env_str(env_str):
        env = LampEnv()
        import ast
        env.reset(ast.literal_eval(env_str.split("@", 1)[1]))
        return env

    def reset(self, options={}):
        self.wanted = options.get("wanted", 3)
        self.presses = 0
        self._reward = 0
        self._done = False
        self.step_count = 0
        return "A lamp."

    def get_ref_answer(self):
        return self.wanted * 2

    def step(self, action):
        self.step_count += 1
        call = json.loads(action)
        name, args = call["name"], call.get("parameters", {})
        return True, getattr(self, name)(**args)

    def Press(self):
        """Presses the button.

        Args:
            None

        Returns:
            str: how often it was pressed

        Example Output:
            "1"
        """
        self.presses += 1
        return str(self.presses)

    def Look(self):
        """Looks at the lamp.

        Returns:
            str: whether it is lit

        Example Output:
            "dark"
        """
        return "lit" if self.presses >= self.wanted else "dark"

    def Observe(self):
        """Shows what can be seen.

        Returns:
            str: the number of presses

        Example Output:
            "0"
        """
        return str(self.presses)

    def Done(self, answer):
        """Gives the answer.

        Args:
            answer (int): twice the presses that lit it

        Returns:
            str: the verdict

        Example Output:
            "reward=1"
        """
        self._done = True
        self._reward = 1 if answer == self.get_ref_answer() else 0
        return f"reward={self._reward}"

    def solve(self):
        def call(name, **args):
            return self.step(json.dumps({"name": name, "parameters": args}))[1]
        while call("Look") == "dark":
            call("Press")
        return call("Done", answer=2 * int(call("Observe")))
`;

function instance(index: number, wanted: number, source?: string): string {
  return JSON.stringify({
    ability: `codegym_v1@Own_1_I__LampEnv@{"wanted": ${wanted}}`,
    code_id: "Own_1_I",
    prompt: [
      { role: "system", name: "functions", content: "" },
      { role: "user", name: "", content: "Question:\n\nHow often must the button be pressed? Answer twice that." },
    ],
    plugin_call_max_round: 256,
    // Look before each press and after the last, Observe, Done.
    extra_info: { index: String(index), solve_fc_round: 2 * wanted + 3, ...(source ? { gym_env: source } : {}) },
  });
}

describe("trailgym import codegym", () => {
  test("imports the good rows, lists the bad ones with line and reason, and what it made can be checked", async () => {
    await using folder = await tempFolder();
    const file = folder.join("train.jsonl");
    await writeFile(
      file,
      `${instance(1, 2, program)}\nnot JSON\n${instance(2, 4)}\n{"ability": "else"}\n${instance(3, 1)}\n`,
    );
    await writeFile(folder.join("Own_1_I__LampEnv.py"), program);
    const out = folder.join("lamps");
    const sources = ["--sources", folder.join("Own_1_I__LampEnv.py")];
    const imported = await trailgym(["import", "codegym", file, "--out", out, ...sources]);
    expect(imported.code).toBe(0);
    expect(imported.stdout).toMatch(/imported 3 tasks of 1 programs into .*serve --tasks/);
    expect(imported.stderr).toMatch(/train\.jsonl:2: .*\n.*train\.jsonl:4: .*\n2 rows were left out/);
    expect((await readdir(out)).sort()).toEqual(["dataset.json", "programs", "tasks.jsonl"]);

    const again = await trailgym(["import", "codegym", file, "--out", out]);
    expect(again).toMatchObject({ code: 2, stderr: expect.stringMatching(/is not empty/) as string });

    // A recorded number of calls that is wrong is what an import is checked for.
    const tasks = await readFile(folder.join("lamps", "tasks.jsonl"), "utf8");
    await writeFile(folder.join("lamps", "tasks.jsonl"), tasks.replace('"referenceCalls":7', '"referenceCalls":8'));
    const checked = await trailgym(["check-env", "--tasks", out, "--json"]);
    const [report] = JSON.parse(checked.stdout) as { ok: boolean; findings: { message: string }[] }[];
    expect(checked.code).toBe(1);
    // The others are won as recorded, by the solution that came with them.
    expect(report?.findings).toHaveLength(1);
    expect(report?.findings[0]?.message).toMatch(/7 calls, 8 are recorded/);
  }, 120_000);

  test("keeps to --limit, fails with --strict, and leaves nothing where nothing was imported", async () => {
    await using folder = await tempFolder();
    const file = folder.join("train.jsonl");
    await writeFile(file, `${instance(1, 2, program)}\n${instance(2, 4, program)}\n{}\n`);
    const args = ["import", "codegym", file, "--json"];
    const limited = await trailgym([...args, "--out", folder.join("one"), "--limit", "1", "--strict"]);
    expect(JSON.parse(limited.stdout)).toMatchObject({ tasks: 1, programs: 1, problems: [{ line: 3 }] });
    expect(limited.code).toBe(1);
    expect((await readFile(folder.join("one", "tasks.jsonl"), "utf8")).trimEnd().split("\n")).toHaveLength(1);

    await writeFile(file, "{}\n");
    const nothing = await trailgym(["import", "codegym", file, "--out", folder.join("none")]);
    expect(nothing).toMatchObject({ code: 1, stdout: "" });
    expect(nothing.stderr).toMatch(/train\.jsonl:1: [^]*no task was imported/);
    expect(await readdir(folder.path)).not.toContain("none");
    expect((await trailgym(["import", "codegym", folder.join("absent.jsonl"), "--out", folder.join("x")])).code).toBe(
      2,
    );
  });
});

describe("trailgym check-env", () => {
  const env = (step: string) => `
    import { defineEnv } from "trailgym/env";
    import { z } from "zod";
    export default defineEnv({
      id: "own-v1", summary: "One step.", maxEpisodeSteps: 5,
      state: z.object({ n: z.int() }), action: z.object({ by: z.int().min(1).max(2) }), observation: z.object({ n: z.int() }),
      options: z.object({}),
      reset: () => ({ state: { n: 0 }, observation: { n: 0 } }),
      step: (_ctx, state, { by }) => { ${step} },
    });`;

  test("passes a sound file that lies anywhere, and says what is wrong with another", async () => {
    await using folder = await tempFolder();
    const file = folder.join("own.env.ts");
    await writeFile(
      file,
      env("return { state: { n: state.n + by }, observation: { n: by }, reward: 1, terminated: true };"),
    );
    const sound = await trailgym(["check-env", file]);
    expect(sound).toMatchObject({ code: 0, stdout: expect.stringMatching(/^own-v1 .*: ok \(/) as string });

    await writeFile(
      file,
      env("state.n += by; return { state, observation: { n: by }, reward: NaN, terminated: true };"),
    );
    const broken = await trailgym(["check-env", file, "countdown-v1"]);
    expect(broken.code).toBe(1);
    expect(broken.stdout).toMatch(/error +mutates-input: .*[^]*countdown-v1: ok/);

    await writeFile(file, "export default 3;");
    const none = await trailgym(["check-env", file]);
    expect(none).toMatchObject({ code: 1, stdout: "" });
    expect(none.stderr).toMatch(/own\.env\.ts: .*defineEnv/);
  });

  test("asks what to check, and knows what there is", async () => {
    expect(await trailgym(["check-env"])).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/--tasks DIR/) as string,
    });
    expect(await trailgym(["check-env", "nothing-v1"])).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/countdown-v1/) as string,
    });
  });

  test("ends a step that never returns, says which it was, and checks what is left", async () => {
    await using folder = await tempFolder();
    const file = folder.join("own.env.ts");
    await writeFile(file, env("for (;;) state.n + by;"));
    const { code, stdout } = await trailgym(["check-env", file, "countdown-v1", "--step-timeout-ms", "3000"]);
    expect(code).toBe(1);
    expect(stdout).toMatch(/error +timeout: step 1 has not returned in 3 s: .*seed 0, step 1\)\ncountdown-v1: ok/);

    await writeFile(file, "for (;;);");
    const loading = await trailgym(["check-env", file, "--step-timeout-ms", "1500"]);
    expect(loading).toMatchObject({ code: 1, stdout: "" });
    expect(loading.stderr).toMatch(/own\.env\.ts: loading it has not returned/);

    await writeFile(file, env("process.exit(0);"));
    const left = await trailgym(["check-env", file]);
    expect(left.code).toBe(1);
    expect(left.stdout).toMatch(/error +throws: step 1 ended its thread/);
  });

  test("names the other tasks that have the same fault", async () => {
    await using folder = await tempFolder();
    const file = folder.join("own.env.ts");
    const source = env("return { state, observation: { n: by }, reward: NaN, terminated: true };");
    const ids = '["votes/0", "votes/1", "votes/2"]';
    await writeFile(
      file,
      source
        .replace("defineEnv }", "defineEnv, taskList }")
        .replace("reset:", `tasks: () => taskList({ train: ${ids}.map((id) => ({ id })) }), reset:`),
    );
    const shown = await trailgym(["check-env", file]);
    expect(shown.stdout).toMatch(/reward: .*task votes\/0.* \(and 2 more: votes\/1, votes\/2\)\n/);
    const [report] = JSON.parse((await trailgym(["check-env", file, "--json"])).stdout) as { findings: object[] }[];
    expect(report?.findings).toEqual([expect.objectContaining({ alsoAt: ["votes/1", "votes/2"] })]);
  });

  test("says once what is wrong with a program, for all its tasks", async () => {
    await using folder = await tempFolder();
    const dataset = { env: "code-gym-v1", name: "broken" };
    const task = { program: "programs/none.js", question: "Which?", payload: {}, split: "train" };
    await mkdir(folder.join("programs"));
    await writeFile(folder.join("dataset.json"), JSON.stringify(dataset));
    await writeFile(
      folder.join("programs", "none.js"),
      'const program = {\n  tools: {},\n  init() { throw new Error("no crates"); },\n};',
    );
    await writeFile(
      folder.join("tasks.jsonl"),
      ["none/0", "none/1"].map((id) => JSON.stringify({ id, ...task })).join("\n"),
    );
    const { code, stdout } = await trailgym(["check-env", "--tasks", folder.path, "--json"]);
    expect(code).toBe(1);
    const [report] = JSON.parse(stdout) as { ok: boolean; findings: object[] }[];
    expect(report).toMatchObject({ ok: false });
    expect(report?.findings).toEqual([
      {
        severity: "error",
        rule: "tasks",
        message: "its program raised Error: no crates (programs/none.js:3)",
        at: { task: "none/0" },
        alsoAt: ["none/1"],
      },
    ]);
  }, 60_000);

  test("shows the line of a syntax error", async () => {
    await using folder = await tempFolder();
    const file = folder.join("own.env.ts");
    await writeFile(file, "export const one = 1;\n\nconst = 3;\n");
    const { code, stderr } = await trailgym(["check-env", file]);
    expect(code).toBe(1);
    expect(stderr).toMatch(/own\.env\.ts:3\n$/);
  });

  test("takes a path for what it is where `npm run trailgym` was typed", async () => {
    await using folder = await tempFolder();
    await writeFile(
      folder.join("own.env.ts"),
      env("return { state: { n: state.n + by }, observation: { n: by }, reward: 1, terminated: true };"),
    );
    const root = path.resolve(import.meta.dirname, "../../..");
    const npm = ["run", "-s", "--prefix", root, "trailgym", "--", "check-env", "own.env.ts"];
    const { stdout } = await promisify(execFile)("npm", npm, { cwd: folder.path });
    expect(stdout).toMatch(/^own-v1 .*: ok/);
  });
});
