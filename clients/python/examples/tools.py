"""A tool environment: the tools come with the task, and a policy's mistakes are observations."""

import json
import sys

import trailgym

url = sys.argv[1] if len(sys.argv) > 1 else "ws://127.0.0.1:7474/rpc"

with trailgym.connect(url) as client:
    task = next(client.tasks("code-gym-v1"))
    with client.make("code-gym-v1") as session:
        reset = session.reset(task=task.id, seed=1)
        print(reset.observation["content"].splitlines()[0])
        for tool in session.tools or []:
            parameters = ", ".join(tool.input_schema.get("properties", {}))
            print(f"- {tool.name}({parameters}): {tool.description.splitlines()[0]}")

        step = session.call_tool("Fly", to="the moon")
        print(f"is an error: {step.observation['isError']}, the episode goes on: {not step.terminated}")
        print(step.observation["content"])

        # What a language model writes goes as it is; the environment finds the call in it.
        first = next(tool for tool in session.tools or [] if not tool.input_schema["required"])
        step = session.step(json.dumps({"tool": first.name, "arguments": {}}))
        print(f"{first.name} says {step.observation['content']!r}; {step.index} calls so far")
