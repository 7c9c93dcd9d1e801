import tseslint from "typescript-eslint";

export default tseslint.config(
  { ignores: ["node_modules/", "dist/", "fixtures/", "clients/cli/bench/dataset/", "test/resources/leaks/dataset/"] },
  ...tseslint.configs.recommendedTypeChecked,
  {
    languageOptions: { parserOptions: { projectService: true, tsconfigRootDir: import.meta.dirname } },
    rules: {
      "@typescript-eslint/no-floating-promises": "error",
      "@typescript-eslint/no-misused-promises": "error",
      "@typescript-eslint/switch-exhaustiveness-check": ["error", { considerDefaultExhaustiveForUnions: true }],
      "@typescript-eslint/consistent-type-imports": "error",
      "@typescript-eslint/no-unused-vars": ["error", { argsIgnorePattern: "^_", varsIgnorePattern: "^_" }],
      // Also where `await using` would dispose of what the returned promise still needs.
      "@typescript-eslint/return-await": ["error", "error-handling-correctness-only"],
      "no-console": "error",
    },
  },
  {
    files: ["envs/**/*.ts", "pheromone/**/*.ts"],
    rules: {
      "no-restricted-properties": [
        "error",
        { object: "Math", property: "random", message: "Draw from ctx.rng: an episode is a function of its seed." },
        { object: "Date", property: "now", message: "An episode has no clock: it would not replay." },
      ],
    },
  },
  // In the editor already; test/architecture.test.ts holds the whole table.
  {
    files: ["envs/**/*.ts", "pheromone/**/*.ts"],
    ignores: ["envs/core/discovery.ts"],
    rules: {
      "no-restricted-imports": [
        "error",
        {
          patterns: [
            {
              group: ["node:*"],
              message: "An environment opens no file, socket or process; it is lent what it needs.",
            },
            {
              group: ["ws", "isolated-vm", "pyodide", "dockerode"],
              message: "Sandboxes and sockets are the server's.",
            },
          ],
        },
      ],
    },
  },
  { files: ["**/*.js"], extends: [tseslint.configs.disableTypeChecked] },
);
