"""Orders as they are sent, and the answers about them. The tests hold them against the OpenAPI document of the engine."""

from typing import Any, Literal, NotRequired, TypedDict


class After(TypedDict):
    """An order that must have ended before, with the acceptable final states."""

    order: str
    states: list[str]
    otherwise: NotRequired[Literal["wait", "fail", "cancel"]]


class Lifecycle(TypedDict, total=False):
    """Conditions of the start. Times are in RFC 3339, the period in seconds."""

    startAt: str
    promiseAt: str
    periodToStart: int
    after: list[After]


class Group(TypedDict, total=False):
    """Terms on which notifications over AMQP come in one message. `within` is a duration such as `50ms`."""

    max: int
    within: str


class Notify(TypedDict):
    """A receiver of notifications of an order."""

    url: str
    correlationId: NotRequired[str]
    timezone: NotRequired[str]
    on: NotRequired[list[Literal["final", "transitions", "parked", "jeopardy"]]]
    format: NotRequired[Literal["pagurus", "cloudevents", "cloudevents-binary"]]
    group: NotRequired[Group]


class Order(TypedDict):
    """An order to be registered. One without an id gets one from the client, the same over all repeats of the call."""

    id: NotRequired[str]
    scenario: str
    scenarioVersion: NotRequired[int]
    params: NotRequired[dict[str, Any]]
    mode: NotRequired[Literal["parallel", "sequential"]]
    queue: NotRequired[str]
    priority: NotRequired[Literal["high", "normal", "low"]]
    flow: NotRequired[dict[str, Any]]
    transactionId: NotRequired[str]
    labels: NotRequired[dict[str, str]]
    notify: NotRequired[Notify | list[Notify]]
    lifecycle: NotRequired[Lifecycle]


class Registered(TypedDict):
    """Outcome of a registration, with the present status of the order, where it exists. The last three statuses are those of
    one of many orders; `error` is the problem then."""

    id: str
    status: Literal["accepted", "duplicate", "would_be_accepted", "conflict", "rejected", "unavailable"]
    orderStatus: NotRequired[str]
    note: NotRequired[str]
    error: NotRequired[dict[str, Any]]


class Done(TypedDict):
    """Receipt of an action."""

    id: str
    status: str
    orderStatus: NotRequired[str]
    note: NotRequired[str]


class Status(TypedDict):
    """Status of an order; `final` is true if this life is over."""

    id: str
    status: str
    final: bool
    life: int
    note: NotRequired[str]


class Answered(TypedDict):
    """Answer of a live order to a call; without `answeredAt` it has not answered yet."""

    key: str
    name: str
    status: str
    receivedAt: str
    answeredAt: NotRequired[str]
    answer: NotRequired[Any]
    error: NotRequired[dict[str, Any]]


class Found(TypedDict):
    """An order in the result of a search."""

    id: str
    scenario: str
    scenarioVersion: int
    status: str
    scenarioStatus: str
    step: str | None
    errorClass: str | None
    createdAt: str
    updatedAt: str
    labels: NotRequired[dict[str, str]]
    jeopardy: NotRequired[bool]
    inconsistent: NotRequired[bool]


class Page(TypedDict):
    """A page of orders, and the cursor of the next; it may be empty, and have a next one."""

    items: list[Found]
    next: NotRequired[str | None]
