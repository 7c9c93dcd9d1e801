// A shelf of 200 numbers and a running total: some kilobytes of state, next to no work in a call.
const program = {
  tools: {
    Add: {
      description: "Adds the number at a place of the shelf to the total and returns the total.",
      parameters: { place: { type: "integer", description: "0 to 199" } },
      run(state, { place }) {
        state.total += state.shelf[place % state.shelf.length];
        return String(state.total);
      },
    },
  },
  init: ({ size }) => ({ shelf: Array.from({ length: size }, (_, i) => i), total: 0 }),
  observe: (state) => `total ${state.total}`,
  answer: (state) => state.total,
  done: { type: "integer", description: "the total" },
  solve(call) {
    const total = Number(call("Add", { place: 7 }));
    call("Done", { answer: total });
  },
};
