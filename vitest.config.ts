import { configDefaults, defineConfig } from "vitest/config";

// What takes minutes or downloads: `vitest run --mode long`.
export default defineConfig(({ mode }) => ({
  test: {
    include: mode === "long" ? ["test/**/*.long.test.ts"] : ["test/**/*.test.ts"],
    exclude: mode === "long" ? configDefaults.exclude : [...configDefaults.exclude, "**/*.long.test.ts"],
    pool: "forks",
    // Child processes (interpreters, servers under test) share two cores with the workers.
    maxWorkers: 2,
    testTimeout: mode === "long" ? 600_000 : 20_000,
    hookTimeout: 30_000,
  },
}));
