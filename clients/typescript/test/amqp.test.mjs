// Against a running engine and its broker: PAGURUS_SERVER, AMQP_URL and PAGURUS_PREFIX say where. The scenario `greet` answers at once, `ask` asks
// somebody and waits, `score` gives a task to the actor `scoring`, with a work time-out of two seconds.

import assert from "node:assert/strict";
import test, { after } from "node:test";

import amqplib from "amqplib";
import { Client, Conflict, Refused, UnknownScenario, Unreachable } from "pagurus-client";
import { Actor, Fail } from "pagurus-client/actor";
import { AmqpReceiver, AmqpSender } from "pagurus-client/amqp";

import { proxy } from "./proxy.mjs";

const server = process.env.PAGURUS_SERVER;
const url = process.env.AMQP_URL;
const prefix = process.env.PAGURUS_PREFIX;
const engine = { skip: !server || !url, timeout: 60_000 };
const greet = (id, name = "a") => ({ id, scenario: "greet", params: { name } });
const score = (id, params) => ({ id, scenario: "score", params });
const trace = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
const quiet = { info: () => {}, warn: () => {}, error: () => {} };
const client = server && new Client(server);

async function reach(id, status) {
  while ((await client.status(id)).status !== status) await pause(20);
}

/** Serves while the test runs. */
async function during(servant, serving, run) {
  try {
    await run();
  } finally {
    servant.stop();
    await serving;
  }
}

// What a failed test leaves open keeps no report back.
after(() => void setTimeout(() => process.exit(), 5000).unref());

// What ends with its test, however that ends.

async function connected(t) {
  const connection = await amqplib.connect(url);
  t.after(() => connection.close());
  return connection;
}

async function wayOf(t) {
  const way = await proxy(url);
  t.after(() => way.close());
  return way;
}

function senderOf(t, options) {
  const sender = new AmqpSender(options);
  t.after(() => sender.close());
  return sender;
}

const pause = (milliseconds) => new Promise((done) => setTimeout(done, milliseconds));

/** A promise, with what settles it. */
function event() {
  let happen;
  const happened = new Promise((resolve) => (happen = resolve));
  return { happen, happened };
}

async function verdicts(id) {
  const answer = await fetch(`${server}/v1/orders/${id}/callbacks`);
  return (await answer.json()).map((callback) => callback.verdict);
}

test("receipts come over AMQP", engine, async (t) => {
  const sender = senderOf(t);
  assert.equal((await sender.register(greet("ts-amqp"))).status, "accepted");
  assert.equal((await client.wait("ts-amqp", 30)).final, true);
  const again = await sender.register(greet("ts-amqp"));
  assert.deepEqual([again.status, again.orderStatus], ["duplicate", "success"]);
  await assert.rejects(sender.register(greet("ts-amqp", "b")), Conflict);
  await assert.rejects(sender.register({ id: "ts-wrong", scenario: "nothing" }), UnknownScenario);
  await assert.rejects(sender.act("ts-amqp", "kill", "too late"), Refused);
  await sender.register({ id: "ts-amqp-3", scenario: "ask" }, { traceparent: trace });
  await reach("ts-amqp-3", "wait");
  assert.equal((await sender.act("ts-amqp-3", "kill", "nobody waits for it")).orderStatus, "canceled");
  await sender.close();
  // After its end it connects again.
  assert.equal((await sender.register(greet("ts-amqp"))).status, "duplicate");
  const nobody = senderOf(t, { prefix: `${prefix}.nobody`, patience: 1 });
  await assert.rejects(nobody.register(greet("ts-amqp-2")), Unreachable);
});

test("a sender that lost its connection sends again", engine, async (t) => {
  const way = await wayOf(t);
  const sender = senderOf(t, { url: way.url });
  assert.equal((await sender.register(greet("ts-lost-0"))).status, "accepted");
  const orders = Array.from({ length: 200 }, (_, number) => greet(`ts-lost-${number + 1}`));
  const sending = orders.map((order) => sender.register(order));
  await new Promise(setImmediate);
  way.cut();
  for (const receipt of await Promise.all(sending)) assert.ok(["accepted", "duplicate"].includes(receipt.status), receipt.status);
});

test("an order whose receipt is lost is sent again, as the same message", engine, async (t) => {
  const mute = `${prefix}.mute`;
  const connection = await connected(t);
  const channel = await connection.createChannel();
  await channel.assertExchange(`${mute}.orders`, "topic", { durable: false, autoDelete: true });
  const { queue } = await channel.assertQueue("", { exclusive: true });
  await channel.bindQueue(queue, `${mute}.orders`, "order.*");
  const messages = [];
  const answer = ({ properties, content, fields }) => {
    messages.push([fields.routingKey, properties.messageId, properties.correlationId, properties.deliveryMode, properties.timestamp, String(content)]);
    if (messages.length < 2) return;
    const receipt = Buffer.from(JSON.stringify({ id: "a", status: "accepted" }));
    channel.sendToQueue(properties.replyTo, receipt, { correlationId: properties.correlationId });
  };
  await channel.consume(queue, answer, { noAck: true });
  const sender = senderOf(t, { prefix: mute });
  assert.equal((await sender.register({ id: "a", scenario: "greet" })).status, "accepted");
  assert.equal(messages.length, 2);
  assert.deepEqual(messages[0], messages[1]);
  assert.deepEqual([messages[0][0], messages[0][1], messages[0][3]], ["order.create", "a", 2]);
});

test("notifications come until they are taken, and after a lost connection", engine, async (t) => {
  const way = await wayOf(t);
  const queue = `${prefix}.test.notices`;
  const receiver = new AmqpReceiver({ url: way.url, queue, key: queue, log: quiet });
  const taken = new Map();
  const [first, second] = [event(), event()];
  let isFirst = true;
  const serving = receiver.serve(async (notification) => {
    if (isFirst) {
      isFirst = false;
      throw new Error("not now");
    }
    // One that was taken as its connection was lost comes again.
    taken.set(notification.content.subject ?? notification.content.id, notification);
    (taken.size === 1 ? first : second).happen();
  });
  const notify = { url: `amqp://?key=${queue}`, correlationId: "mark" };
  const channel = await (await connected(t)).createChannel();
  await during(receiver, serving, async () => {
    // The queue and its binding are there before the first notification.
    const isBound = async () => {
      const connection = await amqplib.connect(url);
      const probe = await connection.createChannel();
      probe.on("error", () => {});
      const found = await probe.checkQueue(queue).then(({ consumerCount }) => consumerCount > 0, () => false);
      await connection.close();
      return found;
    };
    while (!(await isBound())) await pause(50);
    await client.register({ ...greet("ts-notice-1"), notify });
    await first.happened;
    way.cut();
    await client.register({ ...greet("ts-notice-2"), notify });
    await second.happened;
    // The members of groups come one by one.
    const group = { max: 2, within: "1s" };
    await Promise.all(["3", "4", "5"].map((n) => client.register({ ...greet(`ts-notice-${n}`), notify: { ...notify, group } })));
    const events = { ...notify, group, format: "cloudevents" };
    await Promise.all(["6", "7"].map((n) => client.register({ ...greet(`ts-notice-${n}`), notify: events })));
    while (taken.size < 7) await pause(20);
  });
  const seen = [...taken].map(([id, { type, correlationId, content }]) => [id, type, correlationId, (content.data ?? content).status]);
  assert.deepEqual(seen.sort(), [1, 2, 3, 4, 5, 6, 7].map((n) => [`ts-notice-${n}`, "order.final", "mark", "success"]));
  assert.equal(new Set([...taken.values()].map(({ id }) => id)).size, 7);
  assert.equal((await channel.checkQueue(queue)).messageCount, 0, "all are acknowledged");
  await channel.deleteQueue(queue);
});

test("an actor decides, and its failures are decisions", engine, async () => {
  const actor = new Actor({ log: quiet }).task("scoring", ({ body, order }) => {
    if (body.income === undefined) throw new Fail("scoring.incomplete", "the applicant has no income");
    if (body.income === "huge") return "x".repeat(5_000_000);
    return { score: Math.min(1, body.income.valueOf() / 100_000), order, big: body.income === 7 ? 7n : 0 };
  });
  await during(actor, actor.serve(), async () => {
    const ends = [];
    for (const [id, params] of [["ts-a", { income: 50_000 }], ["ts-b", {}], ["ts-c", { income: null }], ["ts-d", { income: 7 }]]) {
      await client.register(score(id, params));
      await client.wait(id, 30);
      const { result, error } = await client.get(id);
      ends.push(error ? [error.class, error.message] : result);
    }
    assert.deepEqual(ends.slice(0, 2), [
      { score: 0.5, order: "ts-a", big: 0 },
      ["scoring.incomplete", "the applicant has no income"],
    ]);
    assert.deepEqual(ends.slice(2).map(([name]) => name), ["actor.TypeError", "actor.TypeError"]);
    await client.register(score("ts-huge", { income: "huge" }));
    await client.wait("ts-huge", 30);
    assert.equal((await client.get("ts-huge")).error.class, "actor.too_large");
  });
});

test("a task runs on while the connection is lost, once, and its decision counts", engine, async (t) => {
  const way = await wayOf(t);
  const [begun, go] = [event(), event()];
  let runs = 0;
  const actor = new Actor({ url: way.url, log: quiet }).task("scoring", async () => {
    runs += 1;
    begun.happen();
    await go.happened;
    return runs;
  });
  await during(actor, actor.serve(), async () => {
    await client.register(score("ts-cut", {}));
    await begun.happened;
    way.cut();
    // Longer than the work time-out: heartbeats go over the next connection.
    await pause(11_000);
    way.cut();
    go.happen();
    await client.wait("ts-cut", 30);
    assert.deepEqual([(await client.get("ts-cut")).result, runs], [1, 1]);
    assert.deepEqual(await verdicts("ts-cut"), ["accepted"]);
  });
});

test("one task is at work at a time, or as many as are asked for", engine, async () => {
  for (const [prefetch, expected] of [[undefined, 1], [3, 3]]) {
    let [now, most] = [0, 0];
    const enough = event();
    const actor = new Actor({ prefetch, log: quiet }).task("scoring", async () => {
      most = Math.max(most, ++now);
      if (now === expected) enough.happen();
      await enough.happened;
      // Time for one too many.
      await pause(50);
      now -= 1;
    });
    await during(actor, actor.serve(), async () => {
      const ids = Array.from({ length: 6 }, (_, number) => `ts-at-once-${expected}-${number}`);
      await client.registerMany(ids.map((id) => score(id, {})));
      for (const id of ids) assert.equal((await client.wait(id, 30)).status, "success");
    });
    assert.equal(most, expected);
  }
});

test("a stopped actor finishes what runs, and leaves the rest to others", engine, async () => {
  const [begun, go] = [event(), event()];
  const actor = new Actor({ log: quiet }).task("scoring", async ({ order }) => {
    begun.happen(order);
    await go.happened;
    return "of the first";
  });
  const serving = actor.serve();
  await client.registerMany([score("ts-stop-1", {}), score("ts-stop-2", {})]);
  const first = await begun.happened;
  actor.stop();
  await pause(3000);
  go.happen();
  await serving;
  await client.wait(first, 30);
  assert.equal((await client.get(first)).result, "of the first");
  const other = new Actor({ log: quiet }).task("scoring", () => "of the other");
  await during(other, other.serve(), async () => {
    const second = first === "ts-stop-1" ? "ts-stop-2" : "ts-stop-1";
    await client.wait(second, 30);
    assert.equal((await client.get(second)).result, "of the other");
  });
});

test("a task that comes again runs once; one of a wrong pass changes nothing", engine, async (t) => {
  const channel = await (await connected(t)).createConfirmChannel();
  const [begun, go] = [event(), event()];
  let runs = 0;
  const actor = new Actor({ prefetch: 8, log: quiet }).task("scoring", async (task) => {
    runs += 1;
    begun.happen(task);
    await go.happened;
    return runs;
  });
  await during(actor, actor.serve(), async () => {
    await client.register(score("ts-twice", {}));
    const { canceled, workTimeout, ...task } = await begun.happened;
    const queue = `${prefix}.actors.scoring`;
    const send = (body) => channel.sendToQueue(queue, Buffer.from(JSON.stringify(body)));
    const message = { ...task, workTimeoutMs: workTimeout * 1000 };
    send(message);
    send(message);
    // Of no task that the engine knows: it runs, and its decision is for nobody.
    send({ ...message, pass: "a-wrong-pass" });
    send({ hello: "world" });
    await channel.waitForConfirms();
    while ((await channel.checkQueue(queue)).messageCount > 0 || runs < 2) await pause(20);
    go.happen();
    await client.wait("ts-twice", 30);
    assert.equal((await client.get("ts-twice")).status, "success");
    assert.equal(runs, 2);
    assert.deepEqual(await verdicts("ts-twice"), ["accepted"]);
  });
});
