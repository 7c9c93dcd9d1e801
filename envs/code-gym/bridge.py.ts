/** How is a Python program of the released CodeGym format called, unchanged? This source runs after the program's own. */

/** Every function returns [value, state], as an interpreter's entry does; the state is the program's own object. */
export const pythonBridge = String.raw`
import sys as _trailgym_sys


_trailgym_memory_errors = []


def _trailgym_watch_memory():
    # step() of released programs catches every Exception, running out of memory too, and goes on with half a state.
    monitoring = getattr(_trailgym_sys, "monitoring", None)
    if monitoring is None or monitoring.get_tool(4) is not None:
        return

    def raised(_code, _offset, error):
        if isinstance(error, MemoryError):
            _trailgym_memory_errors.append(1)

    monitoring.use_tool_id(4, "trailgym")
    monitoring.register_callback(4, monitoring.events.RAISE, raised)
    monitoring.set_events(4, monitoring.events.RAISE)


_trailgym_watch_memory()


def _trailgym_seed(seed):
    # A program that draws lots draws the same ones in every replay of a call. Unimported, random costs nothing.
    random = _trailgym_sys.modules.get("random")
    if random is not None:
        random.seed(seed)


def _trailgym_class(name):
    import gymnasium

    names = [name] if name else [key for key in globals() if key.endswith("Env")]
    found = [globals().get(key) for key in names]
    found = [cls for cls in found if isinstance(cls, type) and issubclass(cls, gymnasium.Env) and cls is not gymnasium.Env]
    if len(found) != 1:
        raise LookupError("expected one environment class" + (f" {name}" if name else "") + f", found {len(found)}")
    return found[0]


def trailgym_reset(_state, seed, name, payload, literal):
    import ast

    _trailgym_seed(seed)
    cls = _trailgym_class(name)
    options = payload if literal is None else ast.literal_eval(literal)
    # The program cuts its text at "@"; repr() writes one only inside a string literal, where an escape means the same.
    text = repr(options).replace("@", "\\x40")
    env = cls.from_env_str(f"{cls.__name__}@{text}")
    if env is None:
        raise ValueError("from_env_str() does not know its own class")
    return [None, env]


def trailgym_describe(env):
    return [{"tools": [_trailgym_tool(env, label) for label in env.func_mapping]}, env]


def _trailgym_tool(env, label):
    import inspect

    method = getattr(env, label, None)
    if not callable(method):
        return {"name": label, "doc": "", "parameters": [], "open": True}
    parameters, is_open = [], False
    for parameter in inspect.signature(method).parameters.values():
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            is_open = True
            continue
        annotation = parameter.annotation
        if annotation is parameter.empty:
            annotation = None
        elif not isinstance(annotation, str):
            annotation = inspect.formatannotation(annotation)
        optional = parameter.default is not parameter.empty
        parameters.append({"name": parameter.name, "annotation": annotation, "optional": optional})
    return {"name": label, "doc": inspect.getdoc(method) or "", "parameters": parameters, "open": is_open}


def trailgym_step(env, seed, action):
    _trailgym_seed(seed)
    _trailgym_memory_errors.clear()
    reply = env.step(action)
    if _trailgym_memory_errors:
        raise MemoryError
    text = reply[1] if isinstance(reply, tuple) and len(reply) > 1 else reply
    return [{"text": str(text), **_trailgym_end(env)}, env]


def _trailgym_end(env):
    finished = bool(env.finished)
    return {"finished": finished, "correct": finished and float(env.reward) > 0}


def trailgym_solve(env, seed):
    # Plays the program's own solution; what it does after its first Done does not count.
    _trailgym_seed(seed)
    calls, end, step = [], {"finished": False, "correct": False}, env.step

    def record(action):
        if end["finished"]:
            return True, ""
        calls.append(action)
        reply = step(action)
        end.update(_trailgym_end(env))
        return reply

    env.step = record
    env.solve()
    return [{"calls": calls, **end}, None]
`;

/** Programs import gymnasium for its base class alone. */
export const gymnasiumStub = String.raw`
class Env:
    metadata = {}

    def reset(self, *, seed=None, options=None):
        return None, {}

    def close(self):
        pass
`;
