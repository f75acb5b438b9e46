// Compiled, and never run: what the types take, and what they refuse.

import { Client, type Order } from "pagurus-client";

const order: Order = { scenario: "s", labels: { region: "north" }, notify: [{ url: "amqp://?key=k" }] };
const client = new Client("http://127.0.0.1:8080", { token: "t" });
export const status: string = (await client.register(order)).status;
for await (const found of client.find({ status: ["fail"], limit: 3 })) {
  const state: string | null = found.step;
  console.log(state, found.labels?.["region"]);
}
// @ts-expect-error A scenario is required.
await client.register({ id: "a" });
// @ts-expect-error There is no such urgency.
await client.update("a", "because", { priority: "urgent" });
