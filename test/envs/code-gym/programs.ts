/** Two small programs: one in the released CodeGym format with its usual quirks, one in ours. Both written for these tests. */

/**
 * Which two parcels are heaviest together? As in released programs: Done leaks the reference answer, a second Done flips the
 * reward, step() never looks at `finished`, the payload is cut at every "@", and the answer is a tuple.
 */
export const parcels = String.raw`
import ast
import json
import random
from typing import List, Optional

import gymnasium


class ParcelPairEnv(gymnasium.Env):
    def __init__(self, env_str: str = None):
        super().__init__()
        self.COUNT = 0
        self.WEIGH = 1
        self.HEAVIER = 2
        self.SPOIL = 3
        self.OBSERVE = 4
        self.DONE = 5
        self.func_mapping = {
            "CountParcels": self.COUNT,
            "WeighParcel": self.WEIGH,
            "HeavierOf": self.HEAVIER,
            "Spoil": self.SPOIL,
            "Observe": self.OBSERVE,
            "Done": self.DONE,
        }
        if env_str:
            options = ast.literal_eval(env_str.split("@")[1])
            self.reset(options)
        else:
            self.reset()

    @property
    def finished(self) -> bool:
        return self._done

    @property
    def reward(self):
        return float(self._reward)

    @staticmethod
    def from_env_str(s):
        prefix = "ParcelPairEnv@"
        if not s.startswith(prefix):
            return None
        return ParcelPairEnv(env_str=s)

    def reset(self, options={}):
        self.weights = options.get("weights", [3, 1, 2])
        self.sender = options.get("sender", "")
        self.fragile = options.get("fragile", False)
        self.note = options.get("note", None)
        self._reward = 0
        self._done = False
        self.step_count = 0
        return "ready"

    def get_ref_answer(self):
        order = sorted(range(len(self.weights)), key=lambda i: -self.weights[i])
        return tuple(sorted(order[:2]))

    def step(self, action: str):
        self.step_count += 1
        try:
            call = json.loads(action)
            name = call["name"]
            params = call.get("parameters", {})
            code = self.func_mapping.get(name)
            if code == self.COUNT:
                msg = self.CountParcels()
            elif code == self.WEIGH:
                if "index" not in params:
                    msg = "Error: 'index' parameter is missing for WeighParcel action."
                else:
                    msg = self.WeighParcel(params["index"])
            elif code == self.HEAVIER:
                msg = self.HeavierOf(params["pair"], params.get("unit"))
            elif code == self.SPOIL:
                msg = self.Spoil(params["how"])
            elif code == self.OBSERVE:
                msg = self.Observe()
            elif code == self.DONE:
                msg = self.Done(params["answer"])
            else:
                msg = f"Error: unknown action {name}"
        except Exception as e:
            msg = f"Error: {str(e)}"
        return True, msg

    def CountParcels(self):
        r"""
        Counts the parcels.

        Args:
            None

        Returns:
            str: The number of parcels.

        Example Output:
            "3"
        """
        return str(len(self.weights))

    def WeighParcel(self, index: int):
        r"""
        Weighs one parcel.

        Args:
            index (int): Position of the parcel,
                from 0.

        Returns:
            str: Its weight.

        Example Output:
            "SECRET-EXAMPLE"
        """
        return str(self.weights[index])

    def HeavierOf(self, pair: List[int], unit: Optional[str] = None):
        r"""
        Compares two parcels.

        Args:
            pair (list[int]): Two positions.
            unit (str): Unit of the reply.

        Returns:
            str: Position of the heavier one.

        Example Output:
            "SECRET-EXAMPLE"
        """
        a, b = pair
        return str(a if self.weights[a] >= self.weights[b] else b)

    def Spoil(self, how: str):
        r"""
        Breaks things, for tests.

        Args:
            how (str): loop, memory, print, generator or random.

        Returns:
            str: Nothing useful.

        Example Output:
            ""
        """
        if how == "loop":
            self.weights = []
            while True:
                pass
        if how == "memory":
            self.weights = [bytearray(1 << 24) for _ in range(4096)]
        if how == "print":
            print("x" * 2_000_000)
        if how == "generator":
            self.weights = (w for w in self.weights)
        if how == "exit":
            raise SystemExit(1)
        return str(random.random())

    def Observe(self):
        r"""
        Shows what is written on the shipment.

        Args:
            None

        Returns:
            str: Sender and note.

        Example Output:
            "SECRET-EXAMPLE"
        """
        return f"sender={self.sender}, fragile={self.fragile}, note={self.note}"

    def Done(self, answer):
        r"""
        Submits the two positions.

        Args:
            answer (list[int]): The positions of the two heaviest parcels, ascending.

        Returns:
            str: The result.

        Example Output:
            "SECRET-EXAMPLE"
        """
        ref_answer = self.get_ref_answer()
        correct = tuple(answer) == ref_answer
        self._reward = 1 if correct else 0
        self._done = True
        return f"Your answer: {answer}, Reference answer: {ref_answer}, Result: {'Correct' if correct else 'Incorrect'}, reward={self._reward}"

    def solve(self):
        count = int(self.step(json.dumps({"name": "CountParcels", "parameters": {}}))[1])
        weights = []
        for i in range(count):
            weights.append(float(self.step(json.dumps({"name": "WeighParcel", "parameters": {"index": i}}))[1]))
        order = sorted(range(count), key=lambda i: -weights[i])
        return self.step(json.dumps({"name": "Done", "parameters": {"answer": sorted(order[:2])}}))[1]


if __name__ == "__main__":
    env = ParcelPairEnv('ParcelPairEnv@{"weights": [5, 9, 7]}')
    print(env.solve(), env.step_count)
`;

/** How many cells of a hidden row are on? */
export const lamps = String.raw`
const program = {
  tools: {
    Length: { description: "How long the row is.", parameters: {}, run: (state) => String(state.row.length) },
    Read: {
      description: "Reads one lamp.",
      parameters: { at: { type: "integer", minimum: 0, description: "position, from 0" } },
      run(state, { at }) {
        state.reads += 1;
        if (at >= state.row.length) return "Error: beyond the end";
        return state.row[at] ? "on" : "off";
      },
    },
    Spoil: {
      description: "Breaks things, for tests.",
      parameters: { how: { type: "string" }, twice: { type: "boolean", optional: true } },
      run(state, { how }) {
        state.reads = 1000;
        if (how === "loop") for (;;);
        if (how === "memory") for (const all = []; ; ) all.push(new Array(1e6).fill(all.length));
        if (how === "print") for (;;) console.log("x".repeat(100000));
        if (how === "function") state.reads = () => 1;
        if (how === "throw") throw new RangeError("out of " + how);
        return { random: Math.random() };
      },
    },
  },
  init: ({ row }) => ({ row, reads: 0 }),
  observe: (state) => "reads: " + state.reads,
  answer: (state) => ({ on: state.row.filter(Boolean).length, of: state.row.length }),
  done: { type: "object", description: "how many lamps are on, of how many" },
  solve(call) {
    const of = Number(call("Length"));
    let on = 0;
    for (let at = 0; at < of; at++) if (call("Read", { at }) === "on") on += 1;
    call("Done", { answer: { of, on } });
  },
};
`;
