/** How is a JavaScript program called? This source runs after the program's own and sees its `const program`. */

/** Every function returns [value, state], as an interpreter's entry does. */
export const javascriptBridge = String.raw`
// A program that draws lots draws the same ones in every replay of a call.
function trailgym_seed(seed) {
  let a = seed | 0;
  Math.random = () => {
    a = (a + 0x6d2b79f5) | 0;
    let t = Math.imul(a ^ (a >>> 15), 1 | a);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
}

function trailgym_reset(_state, seed, payload) {
  trailgym_seed(seed);
  return [null, program.init(payload)];
}

function trailgym_describe(state) {
  const tools = Object.entries(program.tools).map(([name, { description, parameters = {} }]) => {
    return { name, description: String(description), parameters };
  });
  return [{ tools, done: program.done ?? {} }, state];
}

function trailgym_step(state, seed, name, args) {
  trailgym_seed(seed);
  return [trailgym_run(state, name, args), state];
}

function trailgym_run(state, name, args) {
  if (name === "Done") return { text: "", finished: true, correct: trailgym_accepts(state, args.answer) };
  const result = name === "Observe" ? program.observe(state) : program.tools[name].run(state, args);
  return { text: typeof result === "string" ? result : JSON.stringify(result ?? null), finished: false, correct: false };
}

function trailgym_accepts(state, answer) {
  if (program.accepts) return program.accepts(state, answer) === true;
  return trailgym_same(program.answer(state), answer);
}

function trailgym_same(a, b) {
  if (a === b) return true;
  if (typeof a !== "object" || typeof b !== "object" || a === null || b === null) return false;
  if (Array.isArray(a) !== Array.isArray(b)) return false;
  const keys = Object.keys(a);
  return keys.length === Object.keys(b).length && keys.every((key) => Object.hasOwn(b, key) && trailgym_same(a[key], b[key]));
}

// Plays the program's own solution; what it does after its first Done does not count.
function trailgym_solve(state, seed) {
  trailgym_seed(seed);
  const calls = [];
  let verdict = { finished: false, correct: false };
  program.solve((name, args = {}) => {
    if (verdict.finished) return "";
    calls.push(JSON.stringify({ name, parameters: args }));
    const { text, ...end } = trailgym_run(state, name, args);
    verdict = end;
    return text;
  });
  return [{ calls, ...verdict }, null];
}
`;
