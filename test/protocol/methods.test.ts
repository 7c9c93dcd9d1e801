import { readdirSync } from "node:fs";
import { errorTable, methods, notifications, roles, type Method } from "trailgym/protocol";
import { describe, expect, test } from "vitest";
import { rng, sampleAction } from "trailgym/env";
import { anyCall, jsonSchema } from "../../protocol/openrpc.ts";

const folder = new URL("../../protocol/methods/", import.meta.url);
const files = readdirSync(folder).filter((name) => name !== "index.ts");
const all: Method[] = Object.values(methods);

/** `env/reset` is in env-reset.ts; `$/cancel` in cancel.ts. */
const fileOf = (name: string) => `${name.replace(/^\$\//, "").replaceAll(/[/.]/g, "-")}.ts`;

test("every file in methods/ is in the table, and everything in the table has its file", () => {
  const listed = [...all, ...notifications].map(({ name }) => fileOf(name));
  expect(listed.toSorted()).toEqual(files.toSorted());
});

describe.each(all.map((method) => [method.name, method] as const))("%s", (name, method) => {
  test("is filed under its own name", () => expect(methods[name as keyof typeof methods]).toBe(method));

  test("names an unknown key of its params, at the top and beneath", () => {
    for (const params of samples(method)) {
      const issues = method.params.safeParse({ ...params, surplus: 1 }).error?.issues ?? [];
      expect(issues.flatMap((issue) => (issue.code === "unrecognized_keys" ? issue.keys : []))).toEqual(["surplus"]);
      for (const [key, value] of Object.entries(params)) {
        if (!isStrictObject(method, key)) continue;
        const inner = method.params.safeParse({ ...params, [key]: { ...(value as object), surplus: 1 } });
        expect(inner.error?.issues).toMatchObject([{ code: "unrecognized_keys", keys: ["surplus"], path: [key] }]);
      }
    }
  });

  test("takes what its schema allows, and its results may gain keys", () => {
    expect(samples(method).length).toBeGreaterThan(0);
    expect(jsonSchema(method.result, "output").additionalProperties).not.toBe(false);
  });

  test("names errors that exist and that not every call may get anyway", () => {
    for (const error of method.errors) {
      expect(errorTable).toHaveProperty(error);
      expect(anyCall).not.toContain(error);
    }
    expect(new Set(method.errors).size).toBe(method.errors.length);
  });

  test("may be called by somebody, and a trainer may call everything", () => {
    expect(roles).toEqual(expect.arrayContaining([...method.roles]));
    expect(method.roles).toContain("trainer");
  });

  test("says what it does in a sentence", () => expect(method.summary).toMatch(/^[A-Z].*\.$/));
});

test("an agent neither resets nor opens, restores or forks a session", () => {
  const forbidden = ["env/make", "env/reset", "env/restore", "env/fork", "env/close", "env/snapshot"] as const;
  for (const name of forbidden) expect(methods[name].roles).not.toContain("agent");
  expect(methods["env/step"].roles).not.toContain("observer");
});

/** Random params that the method takes. */
function samples(method: Method): Record<string, unknown>[] {
  const schema = jsonSchema(method.params, "input");
  return Array.from({ length: 30 }, (_, seed) => sampleAction(schema, rng(seed)) as Record<string, unknown>).filter(
    (params) => method.params.safeParse(params).success,
  );
}

function isStrictObject(method: Method, key: string): boolean {
  const { properties } = jsonSchema(method.params, "input") as {
    properties: Record<string, { type?: string; additionalProperties?: unknown }>;
  };
  return properties[key]?.additionalProperties === false;
}
