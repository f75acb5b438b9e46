"""A shop on FastAPI: sends an order for each purchase, and receives the webhook of its end.

`POST /purchases/ID` sends, `GET /purchases/ID` shows, `POST /pagurus` is what `notify` names. Needs `pip install fastapi uvicorn`.
"""

import os
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import uvicorn
from fastapi import FastAPI, HTTPException, Request, Response

from pagurus import AsyncClient, NotGenuine, Problem, Unreachable, verify_webhook

SECRET = os.environ["WEBHOOK_SECRET"]
client = AsyncClient(os.environ.get("PAGURUS_SERVER", "http://127.0.0.1:8080"), token=os.environ.get("PAGURUS_TOKEN"))
listening = socket.create_server(("127.0.0.1", int(os.environ.get("PORT", "0"))))
address = f"http://127.0.0.1:{listening.getsockname()[1]}"
# The ends of orders, and the ids of the notifications that brought them. A real shop stores both in one transaction.
statuses: dict[str, str] = {}
seen: set[str] = set()


@asynccontextmanager
async def lifespan(_: FastAPI) -> AsyncIterator[None]:
    async with client:
        yield


app = FastAPI(lifespan=lifespan)


@app.post("/purchases/{purchase}", status_code=202)
async def buy(purchase: str, params: dict[str, Any]) -> dict[str, str]:
    try:
        registered = await client.register(
            {"id": purchase, "scenario": "greet", "params": params, "notify": {"url": f"{address}/pagurus"}}
        )
    except Problem as problem:
        raise HTTPException(problem.status, str(problem)) from problem
    except Unreachable as away:
        raise HTTPException(503, str(away)) from away
    return {"status": registered["status"]}


@app.get("/purchases/{purchase}")
async def show(purchase: str) -> dict[str, str | None]:
    return {"status": statuses.get(purchase)}


@app.post("/pagurus")
async def receive(request: Request) -> Response:
    try:
        notification = verify_webhook(request.headers, await request.body(), SECRET)
    except NotGenuine:
        return Response(status_code=401)
    message = request.headers["webhook-id"]
    if message not in seen:
        statuses[notification["id"]] = notification["status"]
        seen.add(message)
    # Only now: a notification that was not taken comes again, under the same id.
    return Response(status_code=204)


if __name__ == "__main__":
    print(address, flush=True)
    uvicorn.Server(uvicorn.Config(app, log_level="warning")).run(sockets=[listening])
