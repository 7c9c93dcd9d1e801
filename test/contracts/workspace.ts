/** What every kind of workspace promises, whatever makes it. */

import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { type ExecRequest, SandboxLost, WorkspaceError } from "trailgym/env";
import type { LiveWorkspace, WorkspaceBackend } from "../../server/sandboxes/workspaces/backend.ts";

const env = { PATH: "/usr/bin:/bin" };
const text = (bytes: Uint8Array) => Buffer.from(bytes).toString();

/** @param make a backend whose sandboxes live `leaseMs` without a server */
export function workspaceContract(
  name: string,
  make: (leaseMs: number) => WorkspaceBackend | Promise<WorkspaceBackend>,
): void {
  describe(`a workspace of ${name}`, () => {
    let backend: WorkspaceBackend;
    let workspace: LiveWorkspace;

    beforeAll(async () => {
      backend = await make(30_000);
      workspace = await backend.create({
        limits: { memoryBytes: 96 * 2 ** 20, processes: 48, diskBytes: 8 * 2 ** 20 },
      });
    }, 60_000);
    afterAll(() => backend[Symbol.asyncDispose]());
    beforeEach(() => workspace.restore(emptyTar));

    const run = (script: string, more: Partial<ExecRequest> = {}, signal?: AbortSignal) =>
      workspace.exec({ argv: ["bash", "-c", script], env, timeoutMs: 20_000, ...more }, signal);
    const out = async (script: string) => text((await run(script)).stdout.bytes).trim();

    describe("a command", () => {
      test("gets its arguments, input and environment, and gives its output and exit code", async () => {
        const result = await workspace.exec({
          argv: ["bash", "-c", 'echo "$0|$1|$WORD"; cat; echo oops >&2; exit 3', "a b", "c"],
          env: { ...env, WORD: "w" },
          stdin: Buffer.from("in"),
        });
        expect(result.end).toEqual({ kind: "exit", code: 3 });
        expect(text(result.stdout.bytes)).toBe("a b|c|w\nin");
        expect(text(result.stderr.bytes)).toBe("oops\n");
      });

      test("finds nothing of the server's environment", async () => {
        process.env["TRAILGYM_SECRET_FOR_TEST"] = "secret";
        expect(await out("env; cat /proc/self/environ")).not.toContain("secret");
      });

      test("has one order of output when merged", async () => {
        const { stdout, stderr } = await run("for i in 1 2 3; do echo o$i; echo e$i >&2; done", { merge: true });
        expect(text(stdout.bytes)).toBe("o1\ne1\no2\ne2\no3\ne3\n");
        expect(stderr.bytes.length).toBe(0);
      });

      test("streams while it runs", async () => {
        const seen: string[] = [];
        let early = "";
        const streaming = workspace.exec(
          { argv: ["bash", "-c", "echo first; sleep 0.5; echo second"], env },
          undefined,
          (_, bytes) => seen.push(text(bytes)),
        );
        setTimeout(() => (early = seen.join("")), 300);
        const { stdout } = await streaming;
        expect(early).toBe("first\n");
        expect(text(stdout.bytes)).toBe(seen.join(""));
      });

      test.each([
        ["total time", { timeoutMs: 300 }, "timeout"],
        ["time without a word", { quietMs: 300 }, "quiet"],
      ] as const)("ends when its %s is up, with what it had printed", async (_what, limit, kind) => {
        const started = performance.now();
        const result = await run("echo before; sleep 30; echo after", limit);
        expect(result.end).toEqual({ kind });
        expect(text(result.stdout.bytes)).toBe("before\n");
        expect(performance.now() - started).toBeLessThan(5000);
      });

      test("that keeps talking is not quiet", async () => {
        const result = await run("for i in 1 2 3 4 5 6; do echo $i; sleep 0.1; done", { quietMs: 400 });
        expect(result.end).toEqual({ kind: "exit", code: 0 });
      });

      test("is killed when its signal is aborted, and the next one works", async () => {
        const abort = new AbortController();
        setTimeout(() => abort.abort(), 200);
        expect((await run("echo here; sleep 30", {}, abort.signal)).end).toEqual({ kind: "killed" });
        expect((await run("echo here", {}, AbortSignal.abort())).end).toEqual({ kind: "killed" });
        expect(await out("echo next")).toBe("next");
      });

      test("leaves no process behind, however it hid one", async () => {
        await run(
          "sleep 1000 & setsid sleep 1001 & (setsid bash -c 'sleep 1002 & disown' &) ; nohup sleep 1003 >/dev/null 2>&1 &",
        );
        await run("trap '' TERM INT HUP; setsid bash -c 'trap \"\" TERM; sleep 1004' & sleep 30", { timeoutMs: 300 });
        expect(await out("cat /proc/[0-9]*/comm | grep -c '^sleep$' || true")).toBe("0");
      });

      test("that floods is cut in the middle, and the rest is counted", async () => {
        const result = await run("echo START; yes | head -c 3000000; echo; echo END", { outputBytes: 1000 });
        const { bytes, dropped } = result.stdout;
        expect(bytes.length).toBe(1000);
        expect(dropped).toBe(3_000_000 + 6 + 5 - 1000);
        expect(text(bytes).slice(0, 8)).toBe("START\ny\n");
        expect(text(bytes).slice(-6)).toBe("\n\nEND\n");
      });

      test("that does not exist is an error that says so", async () => {
        await expect(workspace.exec({ argv: ["no-such-program"], env })).rejects.toThrow(WorkspaceError);
        await expect(workspace.exec({ argv: ["true"], cwd: "/no/such", env })).rejects.toThrow("/no/such");
        expect(await out("echo fine")).toBe("fine");
      });

      test("is told apart by its signal", async () => {
        expect((await run("kill -SEGV $$")).end).toEqual({ kind: "signal", signal: 11 });
      });
    });

    describe("the sandbox", () => {
      test("has no network, no capabilities, no way to gain any, and a filter", async () => {
        const status = await out("grep -E '^(CapEff|CapBnd|NoNewPrivs|Seccomp):' /proc/self/status");
        expect(status.replaceAll("\t", "")).toBe(
          "CapEff:0000000000000000\nCapBnd:0000000000000000\nNoNewPrivs:1\nSeccomp:2",
        );
        expect(await out("ls /sys/class/net 2>/dev/null; cat /proc/net/dev | tail -n +3 | cut -d: -f1")).toMatch(
          /^(lo)?\s*lo$/,
        );
        expect(await out("id -u")).not.toBe("0");
      });

      test("refuses namespaces and looking into other processes", async () => {
        expect((await run("unshare -Ur true")).end).not.toEqual({ kind: "exit", code: 0 });
        expect((await run("cat /proc/1/mem; cat /proc/1/environ; cat /proc/1/maps")).end).toEqual({
          kind: "exit",
          code: 1,
        });
      });

      test("can write its workspace and what is for temporary files, and nothing else", async () => {
        const places = "/ /usr /etc /run /run/agent /proc /dev /dev/shm /workspace /tmp";
        const script = `for d in ${places}; do (touch $d/x && rm $d/x && echo $d); done 2>/dev/null`;
        expect((await out(script)).split("\n")).toEqual(["/dev/shm", "/workspace", "/tmp"]);
      });

      test("bounds files, memory and processes, and is there afterwards", async () => {
        expect(text((await run("head -c 20M /dev/zero > f")).stderr.bytes)).toContain("No space left");
        await run("rm f");
        expect((await run("tail /dev/zero")).end).not.toEqual({ kind: "exit", code: 0 });
        await run("f() { f | f & }; f; sleep 0.5");
        expect(await out("echo alive")).toBe("alive");
      }, 60_000);

      test("its agent cannot be killed, traced or spoken to from inside", async () => {
        await run("kill -9 1; kill -STOP 1; kill -TERM -1 2>/dev/null");
        expect(await out("find / -xdev -type s 2>/dev/null | head")).toBe("");
        expect(await out("echo alive")).toBe("alive");
      });
    });

    describe("files", () => {
      test("are written with their folders, read and listed", async () => {
        const bytes = Uint8Array.from({ length: 70_000 }, (_, i) => i % 251);
        await workspace.write("a/b/data", bytes, 0o750);
        const read = await workspace.read("a/b/data");
        expect(Buffer.compare(read.bytes, bytes)).toBe(0);
        expect(read.mode).toBe(0o750);
        await run("ln -s data a/b/link; mkdir a/b/sub; mkfifo a/b/pipe");
        expect(await workspace.list("a/b")).toEqual([
          { name: "data", type: "file", mode: 0o750, bytes: 70_000 },
          expect.objectContaining({ name: "link", type: "link" }),
          expect.objectContaining({ name: "pipe", type: "other" }),
          expect.objectContaining({ name: "sub", type: "folder" }),
        ]);
      });

      test("that cannot be had are errors that say why", async () => {
        await workspace.write("small", Buffer.from("12345"));
        await run("mkfifo pipe; mkdir folder");
        await expect(workspace.read("none")).rejects.toThrow("No such file");
        await expect(workspace.read("small", 4)).rejects.toThrow("more than 4 bytes");
        await expect(workspace.read("pipe")).rejects.toThrow(WorkspaceError);
        await expect(workspace.read("folder")).rejects.toThrow("directory");
        await expect(workspace.list("small")).rejects.toThrow(WorkspaceError);
        await expect(workspace.write("/usr/x", Buffer.from("x"))).rejects.toThrow("Read-only");
      });
    });

    describe("an archive", () => {
      test("brings back what was there: contents, modes, links, long names, and nothing else", async () => {
        const long = `${"x".repeat(120)}/${"y".repeat(200)}`;
        await run(
          `mkdir -p ${long} empty && echo deep > ${long}/f && printf '\\0\\1' > bin && chmod 741 bin && ln -s ../../etc/passwd away && touch -d @1000000000 bin`,
        );
        const { tar, leftOut } = await workspace.archive();
        expect(leftOut).toBe(0);
        // Later than what was archived, by the clock of files.
        await run("sleep 1.1; rm -rf x*; echo other > other; chmod 000 empty; echo changed > bin");
        await workspace.restore(tar);
        expect(await out(`cat ${long}/f; stat -c '%a %s %Y' bin; readlink away; ls`)).toBe(
          `deep\n741 2 1000000000\n../../etc/passwd\naway\nbin\nempty\n${"x".repeat(120)}`,
        );
        expect(Buffer.compare((await workspace.archive()).tar, tar)).toBe(0);
      });

      test("is one that tar reads", async () => {
        await workspace.write("a/b", Buffer.from("content"), 0o755);
        const { tar } = await workspace.archive();
        await workspace.write("/tmp/it.tar", tar);
        expect(await out("tar xOf /tmp/it.tar a/b && tar tvf /tmp/it.tar | wc -l")).toBe("content2");
      });

      test("made by tar is restored, hard links and GNU long names too", async () => {
        await run(
          `mkdir d && echo one > d/f && ln d/f d/g && mkdir ${"l".repeat(150)} && echo far > ${"l".repeat(150)}/z && tar cf /tmp/gnu.tar --format=gnu d l*`,
        );
        await workspace.restore((await workspace.read("/tmp/gnu.tar")).bytes);
        expect(await out(`cat d/g ${"l".repeat(150)}/z; stat -c %h d/f`)).toBe("one\nfar\n2");
      });

      test("that leads out of the workspace is refused", async () => {
        const made = async (script: string) => {
          await run(`rm -rf /tmp/t && mkdir /tmp/t && cd /tmp/t && ${script}`);
          return (await workspace.read("/tmp/t/it.tar")).bytes;
        };
        const evils = [
          "echo x > x && tar cPf it.tar --transform 's,^x,/tmp/escaped,' x",
          "echo x > x && tar cPf it.tar --transform 's,^x,../tmp/escaped,' x",
          "ln -s /tmp l && tar cf it.tar l && rm l && mkdir l && echo x > l/escaped && tar rf it.tar l/escaped",
          "mkfifo p && tar cf it.tar p",
        ];
        for (const evil of evils) {
          const tar = await made(evil);
          await expect(workspace.restore(tar), evil).rejects.toThrow(WorkspaceError);
          expect(await out("ls /tmp/escaped 2>/dev/null; true")).toBe("");
        }
      });

      test("that is cut or larger than allowed is an error", async () => {
        await workspace.write("f", new Uint8Array(10_000));
        const { tar } = await workspace.archive();
        await expect(workspace.restore(tar.subarray(0, 4096))).rejects.toThrow("ends early");
        await workspace.write("f", new Uint8Array(10_000));
        await expect(workspace.archive(5000)).rejects.toThrow("more than 5000 bytes");
      });
    });

    describe("a server that comes back", () => {
      test("finds the sandbox, and a turn's calls that were made are not made again", async () => {
        const first = await backend.create();
        const count = { argv: ["bash", "-c", "echo x >> /workspace/count; cat /workspace/count"], env };
        first.begin(7);
        await first.exec(count);
        await first.exec(count);
        first.release();
        const second = await backend.attach(first.id);
        second.begin(7);
        expect(text((await second.exec(count)).stdout.bytes)).toBe("x\n");
        expect(text((await second.exec(count)).stdout.bytes)).toBe("x\nx\n");
        expect(text((await second.exec(count)).stdout.bytes)).toBe("x\nx\nx\n");
        second.begin(8);
        expect(text((await second.exec(count)).stdout.bytes)).toBe("x\nx\nx\nx\n");
        await second[Symbol.asyncDispose]();
      });

      test("joins a command that was running", async () => {
        const first = await backend.create();
        const slow = {
          argv: ["bash", "-c", "echo x >> /workspace/count; echo begun; sleep 1; cat /workspace/count"],
          env,
        };
        first.begin(1);
        const lost = first.exec(slow).catch((error: unknown) => error);
        await new Promise((resolve) => setTimeout(resolve, 300));
        first.release();
        expect(await lost).toBeInstanceOf(SandboxLost);
        const second = await backend.attach(first.id);
        second.begin(1);
        expect(text((await second.exec(slow)).stdout.bytes)).toBe("begun\nx\n");
        await second[Symbol.asyncDispose]();
      });
    });

    test("ends itself, and what runs in it, when nobody renews its lease", async () => {
      await using brief = await make(1000);
      const forgotten = await brief.create();
      const running = forgotten.exec({ argv: ["sleep", "1000"], env }).catch((error: unknown) => error);
      forgotten.release();
      expect(await running).toBeInstanceOf(SandboxLost);
      await new Promise((resolve) => setTimeout(resolve, 2000));
      await expect(brief.attach(forgotten.id)).rejects.toThrow(SandboxLost);
      expect(await brief.sweep()).toBeGreaterThanOrEqual(1);
      expect(await brief.sweep()).toBe(0);
    }, 20_000);

    test("that is gone is lost, and says so to whoever waits", async () => {
      const doomed = await backend.create();
      const waiting = doomed.exec({ argv: ["sleep", "1000"], env }).catch((error: unknown) => error);
      await doomed[Symbol.asyncDispose]();
      expect(await waiting).toBeInstanceOf(SandboxLost);
      await expect(doomed.exec({ argv: ["true"], env })).rejects.toThrow(SandboxLost);
    });
  });
}

const emptyTar = new Uint8Array(1024);
