"""Environments of a server as Gymnasium's own."""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterator
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces
from gymnasium.utils.env_checker import check_env, data_equivalence
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from served import Served

import trailgym
from trailgym.gym import AnyText, JsonText, TrailGymEnv, TrailGymVectorEnv, VectorError, make, make_vec, register_envs
from trailgym.gym.spaces import bridge

IDS = ["countdown-v1", "arm-v1", "code-gym-v1", "echo-v1"]


@pytest.fixture(scope="module")
def client(real: Served) -> Iterator[trailgym.Client]:
    with trailgym.connect(real.url) as client:
        yield client


@pytest.mark.parametrize("env_id", IDS)
def test_check_env_has_nothing_to_say(real: Served, env_id: str) -> None:
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        env = make(real.url, env_id, render_mode="ansi")
        check_env(env.unwrapped)
        env.close()
        env.close()
    assert [str(warning.message) for warning in said] == []


def test_an_episode_is_played_to_its_end(real: Served) -> None:
    env = make(real.url, "countdown-v1", options={"start": 4}, render_mode="ansi")
    assert env.action_space == spaces.Dict({"amount": spaces.Discrete(3, start=1)})
    observation, info = env.reset(seed=1)
    assert (observation["remaining"], info) == (4, {})
    observation, reward, terminated, truncated, _ = env.step({"amount": np.int64(3)})
    assert (observation["remaining"], reward, terminated, truncated) == (1, 0.0, False, False)
    assert env.render() == "{'remaining': 1}"
    _, reward, terminated, truncated, _ = env.step({"amount": np.int64(1)})
    assert (reward, terminated, truncated) == (1.0, True, False)
    with pytest.raises(trailgym.ResetNeededError):
        env.unwrapped.step({"amount": np.int64(1)})
    observation, _ = env.reset(options={"options": {"start": 7}})
    assert observation["remaining"] == 7
    env.close()


def test_the_steps_that_the_server_allows_truncate_an_episode(real: Served) -> None:
    env = make(real.url, "arm-v1")
    env.reset(seed=1)
    ends = [env.step(env.action_space.sample())[2:4] for _ in range(5)]
    assert ends == [(False, False)] * 4 + [(False, True)]
    env.close()


def test_one_seed_gives_one_run_and_unseeded_resets_go_on_from_it(client: trailgym.Client) -> None:
    def run() -> list[Any]:
        env = TrailGymEnv("", "arm-v1", client=client)
        seen: list[Any] = [env.reset(seed=5), env.reset(), env.reset()]
        env.action_space.seed(1)
        seen += [env.step(env.action_space.sample()) for _ in range(3)]
        env.close()
        return seen

    first, second = run(), run()
    assert data_equivalence(tuple(first), tuple(second), exact=True)
    assert not data_equivalence(first[0], first[1], exact=True)


def test_tasks_and_splits_are_chosen_when_made_or_when_reset(client: trailgym.Client) -> None:
    tasks = [task.id for task in client.tasks("code-gym-v1", limit=2)]
    env = TrailGymEnv("", "code-gym-v1", client=client, task=tasks[0])
    env.reset(seed=1)
    assert env.task == tasks[0]
    assert env.tools
    env.reset(options={"task": tasks[1]})
    assert env.task == tasks[1]
    with pytest.raises(ValueError, match="not start"):
        env.reset(options={"start": 3})
    with pytest.raises(trailgym.UnknownTaskError):
        env.reset(options={"task": "none"})
    env.close()


def test_a_tool_call_goes_as_the_policys_own_text(client: trailgym.Client) -> None:
    env = TrailGymEnv("", "code-gym-v1", client=client)
    assert isinstance(env.action_space, AnyText)
    observation, _ = env.reset(seed=1)
    assert observation["content"].startswith(("A ", "You", "The ", "There", "Two", "In "))
    observation, *_ = env.step("This is no call.")
    assert observation["isError"] == 1
    assert env.tools
    free = next(tool for tool in env.tools if not tool.input_schema["required"])
    observation, *_ = env.step(json.dumps({"tool": free.name, "arguments": {}}))
    assert observation["isError"] == 0
    env.close()


def test_an_unknown_environment_is_named_with_what_was_meant(real: Served) -> None:
    with pytest.raises(trailgym.UnknownEnvError) as unknown:
        make(real.url, "countdwn-v1")
    assert unknown.value.suggestions == ["countdown-v1"]
    with pytest.raises(trailgym.UnknownEnvError):
        make_vec(real.url, "countdwn-v1", 2)


def test_registered_environments_are_found_by_name(real: Served) -> None:
    names = register_envs(real.url)
    assert "trailgym/countdown-v1" in names
    env = gymnasium.make("trailgym/countdown-v1", options={"start": 3})
    assert env.reset(seed=1)[0]["remaining"] == 3
    env.close()
    vector = gymnasium.make_vec("trailgym/countdown-v1", 2, "vector_entry_point", options={"start": 6})
    assert vector.reset(seed=1)[0]["remaining"].tolist() == [6, 6]
    vector.close()


@pytest.mark.parametrize(
    ("schema", "space", "pairs"),
    [
        ({"type": "integer", "minimum": 1, "maximum": 3}, spaces.Discrete(3, start=1), [(np.int64(2), 2)]),
        (
            {"type": "integer", "exclusiveMinimum": 0},
            spaces.Box(1, 2**53 - 1, (), np.int64),
            [(np.array(5), 5)],
        ),
        ({"type": "number", "minimum": -1, "maximum": 1}, spaces.Box(-1, 1, (), np.float64), [(np.array(0.5), 0.5)]),
        ({"type": "boolean"}, spaces.Discrete(2), [(np.int64(1), True), (np.int64(0), False)]),
        ({"enum": ["a", None, {"b": 1}]}, spaces.Discrete(3), [(np.int64(0), "a"), (np.int64(2), {"b": 1})]),
        ({"const": "x"}, spaces.Discrete(1), [(np.int64(0), "x")]),
        ({"type": "string"}, AnyText(), [("é\n", "é\n")]),
        ({"type": "string", "minLength": 1, "maxLength": 3}, AnyText(1, 3), [("abc", "abc")]),
        (
            {
                "type": "array",
                "minItems": 2,
                "maxItems": 2,
                "items": {"type": "array", "minItems": 1, "maxItems": 1, "items": {"type": "number", "minimum": 0}},
            },
            spaces.Box(0, 2.0**1022, (2, 1), np.float64),
            [(np.array([[0.5], [1.0]]), [[0.5], [1.0]])],
        ),
        (
            {"type": "array", "items": {"type": "boolean"}},
            spaces.Sequence(spaces.Discrete(2)),
            [((np.int64(1), np.int64(0)), [True, False]), ((), [])],
        ),
        (
            {"type": "array", "prefixItems": [{"type": "boolean"}, {"type": "string"}]},
            spaces.Tuple([spaces.Discrete(2), AnyText()]),
            [((np.int64(1), "a"), [True, "a"])],
        ),
        (
            {
                "type": "object",
                "properties": {"self": {"type": "boolean"}, "seed": {"type": "string"}},
                "required": ["self", "seed"],
                "additionalProperties": False,
            },
            spaces.Dict({"self": spaces.Discrete(2), "seed": AnyText()}),
            [({"self": np.int64(1), "seed": ""}, {"self": True, "seed": ""})],
        ),
    ],
)
def test_a_schema_that_a_space_describes_goes_both_ways(
    schema: dict[str, Any], space: spaces.Space[Any], pairs: list[tuple[Any, Any]]
) -> None:
    made = bridge(schema)
    assert made.space == space
    for element, value in pairs:
        assert element in made.space
        assert data_equivalence(made.from_json(value), element, exact=True)
        assert made.to_json(element) == value
        assert type(made.to_json(element)) is type(value)
    made.space.seed(1)
    for _ in range(20):
        value = made.to_json(made.space.sample())
        assert made.from_json(value) in made.space
        assert made.to_json(made.from_json(value)) == value


@pytest.mark.parametrize(
    "schema",
    [
        {},
        {"type": "null"},
        {"type": ["string", "null"]},
        {"anyOf": [{"type": "integer"}, {"type": "null"}]},
        {"type": "object", "properties": {"a": {"type": "integer"}}, "additionalProperties": False},
        {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]},
        {"type": "object", "additionalProperties": {"type": "number"}},
        {"type": "array", "items": {"type": "integer"}, "maxItems": 3},
        {"$ref": "#/$defs/tree", "$defs": {"tree": {"type": "array", "items": {"$ref": "#/$defs/tree"}}}},
    ],
)
def test_what_no_space_describes_is_text(schema: dict[str, Any]) -> None:
    made = bridge(schema)
    assert isinstance(made.space, JsonText)
    assert made.space.sample() in made.space
    made.to_json(made.space.sample())
    assert made.to_json('{"a": [1]}') == {"a": [1]}
    assert made.from_json({"a": ["é"]}) == '{"a": ["é"]}'
    assert made.from_json("as it is") == "as it is"
    with pytest.raises(ValueError, match="actions are JSON text"):
        made.to_json("not JSON")


def test_samples_of_json_text_are_what_the_schema_allows() -> None:
    schema = {
        "type": "object",
        "properties": {
            "kind": {"enum": ["a", "b"]},
            "at": {"type": "array", "minItems": 2, "items": {"type": "number", "minimum": 1}},
            "n": {"anyOf": [{"type": "integer", "minimum": 5, "maximum": 6}, {"type": "null"}]},
            "extra": {"type": "string"},
        },
        "required": ["kind", "at", "n"],
    }
    space = bridge(schema).space
    space.seed(1)
    for _ in range(20):
        sample = json.loads(space.sample())
        assert sample.keys() == {"kind", "at", "n"}
        assert sample["kind"] in ("a", "b")
        assert len(sample["at"]) == 2
        assert min(sample["at"]) >= 1
        assert sample["n"] in (5, 6)


def steps(vector: Any, n: int) -> list[Any]:
    """Takes 3, 1 and 2 in turn from 3."""
    assert vector.num_envs == 3
    return [vector.step({"amount": np.array([3, 1, 2])}) for _ in range(n)]


@pytest.mark.parametrize("mode", AutoresetMode)
def test_each_autoreset_mode_is_gymnasiums(real: Served, client: trailgym.Client, mode: AutoresetMode) -> None:
    """Against Gymnasium's own vector of the same environments."""
    ours = TrailGymVectorEnv("", "countdown-v1", 3, client=client, options={"start": 3}, autoreset_mode=mode)

    def single() -> TrailGymEnv:
        return TrailGymEnv("", "countdown-v1", client=client, options={"start": 3})

    theirs = SyncVectorEnv([single] * 3, autoreset_mode=mode)
    assert ours.metadata["autoreset_mode"] == theirs.metadata["autoreset_mode"] == mode
    assert ours.single_observation_space == theirs.single_observation_space
    assert ours.action_space == theirs.action_space
    assert ours.observation_space == theirs.observation_space
    assert data_equivalence(ours.reset(seed=7), theirs.reset(seed=7), exact=True)
    n = 1 if mode == AutoresetMode.DISABLED else 4
    for our, their in zip(steps(ours, n), steps(theirs, n), strict=True):
        assert data_equivalence(our[:4], their[:4], exact=True)
        assert our[4].keys() == their[4].keys()
        if "final_obs" in our[4]:
            assert our[4]["_final_obs"].tolist() == their[4]["_final_obs"].tolist()
            assert data_equivalence(tuple(our[4]["final_obs"]), tuple(their[4]["final_obs"]), exact=True)
    ours.close()
    theirs.close()


def test_a_vector_begins_with_the_episodes_of_its_seeds(client: trailgym.Client) -> None:
    vector = TrailGymVectorEnv("", "arm-v1", 3, client=client)
    observations, infos = vector.reset(seed=11)
    assert observations in vector.observation_space
    assert infos == {}
    for i in range(3):
        env = TrailGymEnv("", "arm-v1", client=client)
        single, _ = env.reset(seed=11 + i)
        assert data_equivalence(observations["grid"][i], single["grid"], exact=True)
        again, _ = env.reset()
        env.close()
        if i == 2:
            last = again
    observations, _ = vector.reset()
    assert data_equivalence(observations["grid"][2], last["grid"], exact=True)
    vector.action_space.seed(1)
    _, rewards, _, _, infos = vector.step(vector.action_space.sample())
    assert rewards.dtype == np.float64
    assert infos["moves"].tolist() == [1, 1, 1]
    assert infos["_moves"].tolist() == [True] * 3
    vector.close()
    vector.close()


def test_same_step_autoreset_has_the_last_values_in_its_infos(client: trailgym.Client) -> None:
    vector = TrailGymVectorEnv("", "arm-v1", 2, client=client, autoreset_mode="SameStep")
    vector.reset(seed=1)
    vector.action_space.seed(1)
    for i in range(1, 6):
        _, _, _, truncated, infos = vector.step(vector.action_space.sample())
        if i < 5:
            assert "final_obs" not in infos
    assert truncated.tolist() == [True, True]
    assert infos["_final_obs"].tolist() == [True, True]
    assert infos["final_obs"][0] in vector.single_observation_space
    assert infos["final_info"]["moves"].tolist() == [5, 5]
    vector.close()


def test_with_autoreset_disabled_a_mask_says_which_to_reset(client: trailgym.Client) -> None:
    vector = TrailGymVectorEnv(
        "", "countdown-v1", 3, client=client, options={"start": 3}, autoreset_mode=AutoresetMode.DISABLED
    )
    vector.reset(seed=1)
    steps(vector, 1)
    with pytest.raises(VectorError) as failed:
        steps(vector, 1)
    assert failed.value.errors.keys() == {0}
    assert isinstance(failed.value.errors[0], trailgym.ResetNeededError)
    observations, _ = vector.reset(options={"reset_mask": np.array([True, False, False])})
    # The others show what they last showed.
    assert observations["remaining"].tolist() == [3, 2, 1]
    for wrong in (np.zeros(3, np.bool_), np.ones(2, np.bool_), np.array([1, 0, 0])):
        with pytest.raises(ValueError, match="reset_mask"):
            vector.reset(options={"reset_mask": wrong})
    with pytest.raises(ValueError, match="2 seeds for 3"):
        vector.reset(seed=[1, 2])
    vector.close()


def test_text_environments_step_side_by_side(client: trailgym.Client) -> None:
    vector = TrailGymVectorEnv("", "code-gym-v1", 2, client=client)
    observations, _ = vector.reset(seed=1)
    assert observations in vector.observation_space
    observations, *_ = vector.step(("no call", '{"tool": "none"}'))
    assert observations["isError"].tolist() == [1, 1]
    assert all(tools for tools in vector.tools)
    vector.close()
