// Compiled, and never run: what the types take, and what they refuse.

import { Client, type Order } from "pagurus-client";
import { Actor, Fail } from "pagurus-client/actor";
import { AmqpReceiver, AmqpSender } from "pagurus-client/amqp";

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
export const sent: string | null | undefined = (await new AmqpSender().register(order, { traceparent: "t" })).orderStatus;
// @ts-expect-error A scenario is required here, too.
await new AmqpSender().register({ id: "a" });
const actor = new Actor({ prefetch: 2, log: console })
  .task("any", ({ body, canceled }) => fetch(body.url, { signal: canceled }).then((answer) => answer.json()))
  .task<{ income?: number }>("scoring", async ({ body: { income } }) => {
    if (income === undefined) throw new Fail("scoring.incomplete", "the applicant has no income", { retryAfter: 30 });
    return income.toFixed();
  });
await actor.run();
// @ts-expect-error A text is no income.
actor.task<{ income: number }>("typed", (task) => task.body.income.length);
await new AmqpReceiver({ queue: "q", key: "k" }).serve(({ id, content }) => console.log(id, "transition" in content ? content.transition.to : content.status));
