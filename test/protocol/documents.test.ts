import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { errorTable, methods, notifications, openrpc } from "trailgym/protocol";
import { expect, test } from "vitest";

const generate = fileURLToPath(new URL("../../generate.ts", import.meta.url));
const read = (name: string) => readFileSync(new URL(`../../protocol/${name}`, import.meta.url), "utf8");

test("openrpc.json and README.md are what the tables say (else: npm run generate)", () => {
  expect(() => execFileSync(process.execPath, [generate, "--check"], { stdio: "pipe" })).not.toThrow();
});

test("the OpenRPC document lists every method, and every reference in it leads somewhere", () => {
  const document = openrpc() as { methods: { name: string }[]; components: { errors: Record<string, unknown> } };
  expect(document.methods.map(({ name }) => name)).toEqual(Object.keys(methods));
  expect(Object.keys(document.components.errors)).toEqual(Object.keys(errorTable));
  const text = JSON.stringify(document);
  const references = [...text.matchAll(/"\$ref":"#\/components\/errors\/([^"]*)"/g)].map(([, name]) => name);
  expect(references.length).toBeGreaterThan(0);
  for (const name of references) expect(document.components.errors).toHaveProperty(name as string);
  expect(text.replaceAll(/"\$ref":"#\/components\/errors\//g, "")).not.toContain('"$ref":');
});

test("the README has every method, notification and error", () => {
  const text = read("README.md");
  for (const name of Object.keys(methods)) expect(text).toContain(`### ${name}\n`);
  for (const { name } of notifications) expect(text).toContain(`\`${name}\``);
  for (const [name, { code }] of Object.entries(errorTable)) expect(text).toContain(`| ${code} | ${name} |`);
});
