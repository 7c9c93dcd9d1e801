const program = {
  tools: {
    Count: {
      description: "Counts one more.",
      parameters: {},
      run: (state) => String(++state.count),
    },
    Spin: {
      description: "Never returns.",
      parameters: {},
      run() {
        for (;;);
      },
    },
  },
  init: () => ({ count: 0 }),
  observe: (state) => `count ${state.count}`,
  answer: (state) => state.count,
  done: { type: "integer", description: "the count" },
  solve(call) {
    call("Done", { answer: Number(call("Count", {})) });
  },
};
