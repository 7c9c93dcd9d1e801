"""A shelf of 200 numbers and a running total: some kilobytes of state, next to no work in a call."""
import ast
import json

import gymnasium


class TallyEnv(gymnasium.Env):
    def __init__(self, env_str: str = None):
        super().__init__()
        self.ADD, self.OBSERVE, self.DONE = 0, 1, 2
        self.func_mapping = {"Add": self.ADD, "Observe": self.OBSERVE, "Done": self.DONE}
        self.reset(ast.literal_eval(env_str.split("@", 1)[1]) if env_str else {})

    @property
    def finished(self) -> bool:
        return self._done

    @property
    def reward(self) -> float:
        return float(self._reward)

    @staticmethod
    def from_env_str(env_str: str):
        return TallyEnv(env_str=env_str) if env_str.startswith("TallyEnv@") else None

    def reset(self, options: dict = {}):
        self.shelf = list(range(options.get("size", 200)))
        self.total = 0
        self._reward = 0
        self._done = False
        self.step_count = 0
        return "The shelf is full."

    def get_ref_answer(self):
        return self.total

    def Add(self, place: int):
        """
        Adds the number at a place of the shelf to the total.

        Args:
            place (int): 0 to 199.

        Returns:
            str: the total.

        Example Output:
            "7"
        """
        self.total += self.shelf[place % len(self.shelf)]
        return str(self.total)

    def Observe(self):
        """
        Shows the total.

        Returns:
            str: the total.

        Example Output:
            "total 7"
        """
        return f"total {self.total}"

    def Done(self, answer: int):
        """
        Hands in the total.

        Args:
            answer (int): the total.

        Returns:
            str: the verdict.

        Example Output:
            "Result: Correct"
        """
        self._done = True
        self._reward = int(answer == self.get_ref_answer())
        return f"Result: {'Correct' if self._reward else 'Incorrect'}, reward={self._reward}"

    def step(self, action: str):
        self.step_count += 1
        try:
            call = json.loads(action)
            if call["name"] not in self.func_mapping:
                return True, f"Error: unknown tool {call['name']}."
            return True, getattr(self, call["name"])(**call.get("parameters", {}))
        except Exception as error:
            return True, f"Error: {error}"

    def solve(self):
        total = int(self.step(json.dumps({"name": "Add", "parameters": {"place": 7}}))[1])
        return self.step(json.dumps({"name": "Done", "parameters": {"answer": total}}))[1]
