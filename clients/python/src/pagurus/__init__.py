"""Sends orders to Pagurus, follows them, acts on them, receives their webhooks, and works for them as an actor.

An order has an id of the client's choice, so that sending it again is harmless: `register` repeats by itself what got no answer, and
a program that was interrupted calls it again with the same order.
"""

from .actor import Actor, Fail, Task
from .amqp import AmqpSender, AsyncAmqpSender
from .client import AsyncClient, Client
from .errors import (
    Busy,
    Conflict,
    Failure,
    Forbidden,
    Foreign,
    Internal,
    Invalid,
    Malformed,
    NotFound,
    NotGenuine,
    Problem,
    Refused,
    TooLarge,
    Unauthenticated,
    Unavailable,
    UnknownScenario,
    Unreachable,
)
from .types import After, Answered, Done, Found, Lifecycle, Notify, Order, Registered, Status
from .webhook import verify_webhook

__all__ = [
    "Actor",
    "After",
    "AmqpSender",
    "Answered",
    "AsyncAmqpSender",
    "AsyncClient",
    "Busy",
    "Client",
    "Conflict",
    "Done",
    "Fail",
    "Failure",
    "Forbidden",
    "Foreign",
    "Found",
    "Internal",
    "Invalid",
    "Lifecycle",
    "Malformed",
    "NotFound",
    "NotGenuine",
    "Notify",
    "Order",
    "Problem",
    "Refused",
    "Registered",
    "Status",
    "Task",
    "TooLarge",
    "Unauthenticated",
    "Unavailable",
    "UnknownScenario",
    "Unreachable",
    "verify_webhook",
]
