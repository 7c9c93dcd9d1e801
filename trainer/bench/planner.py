"""The update of trainer/bench/update.ts in PyTorch: the same weights, batch and loss. Only the benchmark runs it.

usage: planner.py FOLDER: inputs.json names the arrays of inputs.bin. Prints one line of JSON.
"""

import json
import math
import os
import resource
import sys
import time

import torch
import torch.nn.functional as F

torch.set_num_threads(int(os.environ.get("BENCH_THREADS", "0")) or torch.get_num_threads())
folder = sys.argv[1]
with open(os.path.join(folder, "inputs.json")) as file:
    meta = json.load(file)
with open(os.path.join(folder, "inputs.bin"), "rb") as file:
    blob = bytearray(file.read())


def array(name):
    entry = meta["arrays"][name]
    kind = {"float32": torch.float32, "int32": torch.int32}[entry["dtype"]]
    count = math.prod(entry["shape"])
    return torch.frombuffer(blob, dtype=kind, count=count, offset=entry["offset"]).reshape(entry["shape"]).clone()


size, config, options = meta["size"], meta["config"], meta["options"]
B, T, S = size["trajectories"], size["steps"], size["clauses"] + 1
D, H, L = config["width"], config["heads"], S + T - 1
p = {entry["name"]: torch.nn.Parameter(array("weights/" + entry["name"])) for entry in meta["parameters"]}
batch = {name: array(name) for name in meta["arrays"] if not name.startswith("weights/")}
for name in ("prefix", "previousTools", "previousOutputs", "previousPatterns", "actions"):
    batch[name] = batch[name].long()
mask = batch["mask4d"]


def dense(x, name):
    return F.linear(x, p[name + "/weights"].t(), p[name + "/bias"])


def norm(x):
    return F.layer_norm(x, (D,), eps=1e-5)


def forward():
    tools, texts = batch["tools"], batch["prefixTexts"]
    keys = torch.cat([dense(tools, "key"), p["stop/key"]])
    places = torch.cat([p["places/task"][: S - 1], p["places/task"][config["maxClauses"] :]])
    task = dense(texts, "task")[batch["prefix"]].view(B, S, D)
    calls = (
        dense(tools, "tool")[batch["previousTools"]]
        + dense(batch["patternTexts"], "pattern")[batch["previousPatterns"]]
        + dense(batch["outputTexts"], "output")[batch["previousOutputs"]]
        + batch["outcomes"] @ p["outcome/weights"]
    ).view(B, T - 1, D)
    x = torch.cat([task + places, calls + p["places/call"][: T - 1]], 1)
    for layer in range(config["layers"]):
        at = f"trunk/{layer}"
        q, k, v = dense(norm(x), at + "/qkv").view(B, L, 3, H, D // H).permute(2, 0, 3, 1, 4)
        seen = F.scaled_dot_product_attention(q, k, v, attn_mask=mask)
        x = x + dense(seen.transpose(1, 2).reshape(B, L, D), at + "/out")
        x = x + dense(F.relu(dense(norm(x), at + "/up")), at + "/down")
    state = norm(x)[:, S - 1 :]
    query, pointer, trust, repeat, _ = dense(state, "heads").split([D, D, 1, 1, 1], -1)
    scores = query @ keys.t() / math.sqrt(D)
    cosines = F.pad(texts @ tools.t(), (0, 1))[batch["prefix"]].view(B, S, -1)
    shares = torch.softmax(pointer @ task.transpose(1, 2) / math.sqrt(D), -1)
    called = F.one_hot(batch["previousTools"].view(B, T - 1), cosines.shape[-1]).float()
    before = torch.tril(torch.ones(T, T - 1), -1)
    hints = torch.cat([shares * trust, before * repeat], -1) @ torch.cat([cosines, called], 1)
    return scores + hints


def loss():
    logp = torch.log_softmax(forward() / options["temperature"], -1)
    taken = logp.gather(-1, batch["actions"].unsqueeze(-1)).squeeze(-1)
    ratio = torch.exp(taken - batch["oldLogProbs"])
    advantages = batch["advantages"]
    policy = -torch.minimum(ratio * advantages, ratio.clamp(1 - options["clipLow"], 1 + options["clipHigh"]) * advantages)
    entropy = -(logp.exp() * logp).sum(-1)
    return (policy - options["entropyCoef"] * entropy).mean()


optimiser = torch.optim.Adam(p.values(), lr=options["learningRate"], fused=True)
walls, cpus, losses = [], [], []
for _ in range(options["updates"]):
    wall, cpu = time.perf_counter(), sum(resource.getrusage(resource.RUSAGE_SELF)[:2])
    optimiser.zero_grad()
    value = loss()
    value.backward()
    used = [each for each in p.values() if each.grad is not None]
    torch.nn.utils.clip_grad_norm_(used, options["maxGradNorm"])
    optimiser.step()
    losses.append(value.item())
    walls.append(time.perf_counter() - wall)
    cpus.append(sum(resource.getrusage(resource.RUSAGE_SELF)[:2]) - cpu)
print(json.dumps({"engine": f"PyTorch {torch.__version__}", "losses": losses, "wallMs": [1e3 * x for x in walls], "cpuMs": [1e3 * x for x in cpus], "threads": torch.get_num_threads()}))
