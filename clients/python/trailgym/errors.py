"""What went wrong on this side of the wire? What the server answered is a `WireError` instead."""

from __future__ import annotations

import json
from typing import Any

from ._model import TrailGymError


class ClientError(TrailGymError):
    """The root of every error that this client makes itself. Never crosses the wire."""

    code = "CLIENT_ERROR"
    """Stable; the same words as in the TypeScript client."""


class ConnectionLost(ClientError):
    """The socket was lost and this call cannot be sent again (`make`, `fork`, `snapshot`), or the client gave up
    reconnecting. Whether the server executed the call is unknown."""

    code = "CONNECTION_LOST"


class ClosedError(ClientError):
    """The client or the session was closed by this side before the call was answered, or before it was made."""

    code = "CLOSED"

    def __init__(self, what: str) -> None:
        super().__init__(f"the {what} is closed")


class ProtocolViolation(ClientError):
    """The peer sent what the protocol does not allow."""

    code = "PROTOCOL_VIOLATION"
    received: str
    """The offending piece, shortened to 200 characters."""

    def __init__(self, problem: str, received: object) -> None:
        text = received if isinstance(received, str) else _text(received)
        self.received = text if len(text) <= 200 else f"{text[:200]}…"
        super().__init__(f"{problem}: {self.received}")


class SessionBusy(ClientError):
    """A reset, step or restore while another of the same session is under way. Nothing was sent; the session is as it
    was. (`SessionBusyError` is the server's word for a call of another client.)"""

    code = "SESSION_BUSY"

    def __init__(self, session: str, method: str) -> None:
        super().__init__(f"{method}: session {session} has not answered its last call yet; await that one first")


class LateCommit(ClientError):
    """A call that its caller had let go of (a cancelled task, Ctrl-C, a deadline) was committed after all. Raised once,
    by the next `step`, which was not sent: the state is not the one its action was chosen for. Step again to go on from
    `result`. `reset` and `restore` do not depend on the state and never raise this."""

    code = "LATE_COMMIT"
    method: str
    result: Any
    """The late reply."""

    def __init__(self, method: str, result: Any) -> None:
        super().__init__(f"an abandoned {method} was committed after all; look at its result before stepping on")
        self.method = method
        self.result = result


class DeadlinePassed(ClientError):
    """No answer came, not even DEADLINE, within `timeout_ms` and the grace that follows it."""

    code = "DEADLINE_PASSED"
    timeout_ms: float

    def __init__(self, method: str, timeout_ms: float) -> None:
        super().__init__(f"{method}: no answer after its deadline of {timeout_ms} ms")
        self.timeout_ms = timeout_ms


class RequestTooLarge(ClientError):
    """The request is larger than the server's `limits.max_message_bytes`. It was not sent: the server would drop the
    socket."""

    code = "REQUEST_TOO_LARGE"
    size: int
    limit: int

    def __init__(self, method: str, size: int, limit: int) -> None:
        super().__init__(f"{method}: {size} bytes, and the server takes {limit}")
        self.size = size
        self.limit = limit


class WrongRole(ClientError):
    """The token has another role than `connect` was told. Nothing but the handshake was said."""

    code = "WRONG_ROLE"
    role: str

    def __init__(self, wanted: str, role: str) -> None:
        super().__init__(f"the token has the role {role}, not {wanted}")
        self.role = role


class WrongLoop(ClientError):
    """An async client belongs to the event loop that it was connected in; it was used from another one, or from a
    thread without one. Nothing was sent. Connect once in each loop, or use the sync client, which any thread may."""

    code = "WRONG_LOOP"


class WrongProcess(ClientError):
    """A client does not survive `fork`: its socket belongs to the process that connected. Connect again in this one."""

    code = "WRONG_PROCESS"


def _text(value: object) -> str:
    try:
        return json.dumps(value)
    except (TypeError, ValueError, RecursionError):
        return repr(value)
