/** How does what a recipe names get here, once, with its digest checked? */

import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { mkdir, rm, stat, writeFile } from "node:fs/promises";
import path from "node:path";
import { pipeline } from "node:stream/promises";
import type { NpmArchive, Recipe, Wheel } from "./recipe.ts";
import type { Run } from "./run.ts";

export interface Tools {
  python: string;
  npm: string;
  compiler: string;
}

export class DigestMismatch extends Error {
  override readonly name = "DigestMismatch";
  constructor(file: string, expected: string, found: string) {
    super(`${file} is not the file that was pinned: its digest is ${found}, not ${expected}`);
  }
}

export interface Downloads {
  /** Unpacks an npm package's files into a folder that it makes. */
  archive(archive: NpmArchive, into: string): Promise<void>;
  /** Unpacks the libraries and headers of all wheels: `include/`, `lib/`, and the notices. */
  wheels(into: string): Promise<void>;
  clear(): Promise<void>;
}

interface Parts {
  folder: string;
  recipe: Recipe;
  tools: Tools;
  run: Run;
  say: (line: string) => void;
}

export function downloads({ folder, recipe, tools, run, say }: Parts): Downloads {
  async function fetched(
    file: string,
    digest: () => Promise<[expected: string, found: string]>,
    fetch: () => Promise<unknown>,
  ) {
    if (await exists(file)) {
      const [expected, found] = await digest();
      if (expected === found) return;
      // Half of one, from a run that was killed.
      await rm(file);
    }
    await mkdir(folder, { recursive: true });
    await fetch();
    const [expected, found] = await digest();
    if (expected === found) return;
    await rm(file);
    throw new DigestMismatch(path.basename(file), expected, found);
  }

  async function wheel({ name, version, file, sha256 }: Wheel): Promise<string> {
    const target = path.join(folder, file);
    const digest = async (): Promise<[string, string]> => [sha256, await digestOf(target, "sha256", "hex")];
    await fetched(target, digest, async () => {
      say(`downloading ${file}`);
      const requirements = path.join(folder, `${name}.txt`);
      await writeFile(requirements, `${name}==${version} --hash=sha256:${sha256}\n`);
      await run(tools.python, [
        ...["-m", "pip", "download", "--no-deps", "--only-binary=:all:", "--require-hashes", "--progress-bar=off"],
        ...["--implementation", "cp", "--python-version", "3.11", "--abi", "cp311"],
        ...recipe.platforms.flatMap((platform) => ["--platform", platform]),
        ...["--dest", folder, "--requirement", requirements],
      ]);
    });
    return target;
  }

  return {
    async archive({ name, version, integrity }, into) {
      const file = path.join(folder, `${name.replace(/^@/, "").replace("/", "-")}-${version}.tgz`);
      const digest = async (): Promise<[string, string]> => [
        integrity,
        `sha512-${await digestOf(file, "sha512", "base64")}`,
      ];
      await fetched(file, digest, async () => {
        say(`downloading ${name} ${version}`);
        await run(tools.npm, ["pack", "--ignore-scripts", "--pack-destination", folder, `${name}@${version}`]);
      });
      await mkdir(into, { recursive: true });
      await run("tar", ["-xzf", file, "-C", into, "--strip-components=1"]);
    },
    async wheels(into) {
      for (const each of recipe.wheels) {
        const file = await wheel(each);
        say(`unpacking ${each.file}`);
        await run(tools.python, ["-c", unpack, file, into]);
      }
    },
    clear: () => rm(folder, { recursive: true, force: true }),
  };
}

/** TensorFlow's headers moved between its versions, hence the patterns; CUDA's libraries go where its own run path looks. */
const unpack = String.raw`
import re, sys, zipfile
source, into = sys.argv[1:]
rules = [
    (r"tensorflow/(libtensorflow_(?:cc|framework)\.so\.2)", r"lib/\1"),
    (r"tensorflow/(include/tensorflow/c/.*\.h)", r"\1"),
    (r"tensorflow/(include/(?:.*/)?platform/ctstring(?:_internal)?\.h)", r"\1"),
    (r"tensorflow/(include/(?:.*/)?tsl/c/tsl_status\.h)", r"\1"),
    (r"tensorflow/(THIRD_PARTY_NOTICES\.txt)", r"\1"),
    (r"tensorflow/include/(LICENSE)", r"\1"),
    (r"(nvidia/.*\.so[.\d]*)", r"\1"),
]
with zipfile.ZipFile(source) as archive:
    for entry in archive.infolist():
        for pattern, place in rules:
            match = re.fullmatch(pattern, entry.filename)
            if match and not entry.is_dir():
                entry.filename = match.expand(place)
                archive.extract(entry, into)
                break
`;

async function exists(file: string): Promise<boolean> {
  return stat(file).then(
    () => true,
    () => false,
  );
}

async function digestOf(file: string, algorithm: string, encoding: "hex" | "base64"): Promise<string> {
  const hash = createHash(algorithm);
  await pipeline(createReadStream(file), hash);
  return hash.digest(encoding);
}
