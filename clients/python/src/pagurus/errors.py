"""Everything that comes in place of the answer that was asked for."""

from typing import Any


class Failure(Exception):
    """Anything that is not the answer that was asked for."""

    # True if the same request may succeed later, and the seconds after which it may, where that is known.
    is_passing = False
    retry_after: float | None = None


class Unreachable(Failure):
    """The engine did not answer: nobody knows whether the request was done. Repeating it is harmless."""

    is_passing = True


class Foreign(Failure):
    """Something else has answered than the engine: a proxy, a balancer, or another program at this address."""

    def __init__(self, status: int, retry_after: float | None = None):
        super().__init__(f"the answer has the status {status}, and is none of the engine")
        self.status = status
        self.is_passing = status == 429 or status >= 500
        self.retry_after = retry_after


class NotGenuine(Failure):
    """A webhook that was not signed with the secret, or not just now."""


class Problem(Failure):
    """The engine says no, as RFC 9457 describes it. The classes below are its types."""

    kind = ""

    def __init__(self, body: dict[str, Any], retry_after: float | None = None):
        errors = body.get("errors") or []
        faults = "; ".join(f"{one['pointer']}: {one['message']}" for one in errors)
        super().__init__(f"{body.get('detail', '')} ({faults})" if faults else body.get("detail", ""))
        self.type: str = body.get("type", "about:blank")
        self.title: str = body.get("title", "")
        self.status: int = body.get("status", 0)
        self.detail: str = body.get("detail", "")
        # The first field at fault, and all that is wrong: `pointer`, `message`, and mostly `hint`.
        self.pointer: str | None = body.get("pointer")
        self.errors: list[dict[str, Any]] = errors
        # The status of the order, where that is the reason.
        self.order_status: str | None = body.get("orderStatus")
        self.retry_after = retry_after


class Malformed(Problem):
    kind = "malformed"


class Invalid(Problem):
    kind = "invalid"


class UnknownScenario(Problem):
    kind = "unknown-scenario"


class Conflict(Problem):
    """Another order has the id: the one that was sent before had another content."""

    kind = "conflict"


class Refused(Problem):
    """The status of the order does not allow the action."""

    kind = "refused"


class NotFound(Problem):
    kind = "not-found"


class TooLarge(Problem):
    kind = "too-large"


class Unauthenticated(Problem):
    """The API wants a token, and this one is missing, wrong or no longer valid."""

    kind = "unauthenticated"


class Forbidden(Problem):
    """The role of the token does not allow this."""

    kind = "forbidden"


class Busy(Problem):
    """Too much at once: try again later."""

    kind = "busy"
    is_passing = True


class Unavailable(Problem):
    """The database is away: try again later."""

    kind = "unavailable"
    is_passing = True


class Internal(Problem):
    """The engine failed; its log says why."""

    kind = "internal"


_TYPES = {f"urn:pagurus:problem:{one.kind}": one for one in Problem.__subclasses__()}


def problem(body: dict[str, Any], retry_after: float | None = None) -> Problem:
    """The problem of this body, as the class of its type."""
    return _TYPES.get(body["type"], Problem)(body, retry_after)
