// A shop on Express: sends an order for each purchase, and receives the webhook of its end.
// `POST /purchases/ID` sends, `GET /purchases/ID` shows, `POST /pagurus` is what `notify` names.

import express from "express";
import { Client, NotGenuine, Problem, verifyWebhook } from "pagurus-client";

const secret = process.env.WEBHOOK_SECRET;
const client = new Client(process.env.PAGURUS_SERVER ?? "http://127.0.0.1:8080", { token: process.env.PAGURUS_TOKEN });
// The ends of orders, and the ids of the notifications that brought them. A real shop stores both in one transaction.
const statuses = new Map();
const seen = new Set();

const shop = express();
const server = shop.listen(Number(process.env.PORT ?? 0), "127.0.0.1", () => console.log(address()));
const address = () => `http://127.0.0.1:${server.address().port}`;

shop.post("/purchases/:id", express.json(), async (request, answer) => {
  const notify = { url: `${address()}/pagurus` };
  try {
    const order = { id: request.params.id, scenario: "greet", params: request.body, notify };
    const { status } = await client.register(order);
    answer.status(202).json({ status });
  } catch (failure) {
    answer.status(failure instanceof Problem ? failure.status : 503).json({ detail: failure.message });
  }
});

shop.get("/purchases/:id", (request, answer) => {
  answer.json({ status: statuses.get(request.params.id) ?? null });
});

// The body as it came, byte for byte: read as JSON and written again it would be another.
shop.post("/pagurus", express.raw({ type: () => true }), async (request, answer) => {
  try {
    const notification = await verifyWebhook(request.headers, request.body, secret);
    const message = request.headers["webhook-id"];
    if (!seen.has(message)) {
      statuses.set(notification.id, notification.status);
      seen.add(message);
    }
    // Only now: a notification that was not taken comes again, under the same id.
    answer.status(204).end();
  } catch (failure) {
    answer.status(failure instanceof NotGenuine ? 401 : 500).end();
  }
});
