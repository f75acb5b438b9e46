// Against a running engine: PAGURUS_SERVER says where, and PAGURUS_BETWEEN leads to it past something that spoils the first answer of some
// registrations. The scenario `greet` answers at once, `ask` asks somebody and waits.

import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import test from "node:test";

import { Client, Foreign, NotGenuine, Problem, Unreachable, verifyWebhook } from "pagurus-client";

const server = process.env.PAGURUS_SERVER;
const engine = { skip: !server };
const kind = (kind) => (failure) => failure instanceof Problem && failure.kind === kind;
const greet = (id, name = "a") => ({ id, scenario: "greet", params: { name } });
const trace = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

async function reach(client, id, status) {
  while ((await client.status(id)).status !== status);
}

test("webhooks are taken from those who know the secret", async () => {
  const secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
  const headers = {
    "Webhook-Id": "msg_p5jXN8AQM9LWM0D4loKWxJek",
    "webhook-timestamp": "1614265330",
    "webhook-signature": "v1,other v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
  };
  const body = Buffer.from('{"test": 2432232314}');
  assert.deepEqual(await verifyWebhook(headers, body, secret, 300, 1614265331), { test: 2432232314 });
  assert.deepEqual(await verifyWebhook(new Headers(headers), body, secret, 1000, 1614266000), { test: 2432232314 });
  for (const [sent, by, at] of [
    [Buffer.from("{}"), secret, 1614265331],
    [body, secret, 1614266000],
    [body, secret, 1614265000],
    [body, "another", 1614265331],
  ]) {
    await assert.rejects(verifyWebhook(headers, sent, by, 300, at), NotGenuine);
  }
  for (const field of Object.keys(headers)) {
    await assert.rejects(verifyWebhook({ ...headers, [field]: undefined }, body, secret, 300, 1614265331), NotGenuine);
  }
});

test("who is away or busy is asked again, and then reported", async () => {
  const asked = [];
  const busy = { type: "urn:pagurus:problem:busy", title: "t", status: 429, detail: "d" };
  const turns = createServer(async (request, answer) => {
    let body = "";
    for await (const part of request) body += part;
    asked.push(JSON.parse(body).id);
    answer.writeHead(asked.length < 3 ? 429 : asked.length === 3 ? 502 : 201, { connection: "close" });
    answer.end(asked.length < 3 ? JSON.stringify(busy) : asked.length === 3 ? "<html>" : '{"id": "a", "status": "accepted"}');
  });
  await new Promise((done) => turns.listen(0, "127.0.0.1", done));
  const address = `http://127.0.0.1:${turns.address().port}`;
  assert.equal((await new Client(address).register({ scenario: "s" })).status, "accepted");
  assert.deepEqual([asked.length, new Set(asked).size], [4, 1], "one id over all repeats");
  await new Promise((done) => turns.close(done));
  await assert.rejects(new Client(address, { patience: 0.5 }).register({ id: "a", scenario: "s" }), Unreachable);
  const other = createServer((_, answer) => answer.writeHead(404, { connection: "close" }).end("<html>"));
  await new Promise((done) => other.listen(0, "127.0.0.1", done));
  await assert.rejects(new Client(`http://127.0.0.1:${other.address().port}`).status("a"), Foreign);
  await new Promise((done) => other.close(done));
});

test("the example of the README", engine, async () => {
  const readme = readFileSync(new URL("../README.md", import.meta.url), "utf8");
  const example = readme.match(/```ts\n(.*?)```/s)[1].replace("http://127.0.0.1:8080", server);
  // As a module of its own, which finds the package by the name.
  const place = new URL("../dist/readme.mjs", import.meta.url);
  writeFileSync(place, example);
  await import(place);
  const client = new Client(server);
  assert.equal((await client.status("shop-000123")).status, "success");
});

test("an order is registered once and followed to its end", engine, async () => {
  const client = new Client(server);
  const order = greet("ts/1");
  assert.equal((await client.register(order, { dryRun: true })).status, "would_be_accepted");
  assert.equal((await client.register(order)).status, "accepted");
  assert.equal((await client.wait("ts/1", 30)).final, true);
  const again = await client.register(order);
  assert.deepEqual([again.status, again.orderStatus], ["duplicate", "success"]);
  assert.equal((await client.get("ts/1")).result, "hello a");
  await assert.rejects(client.register(greet("ts/1", "b")), kind("conflict"));
});

test("an answer that was lost or refused on its way is asked for again", engine, async () => {
  const far = new Client(process.env.PAGURUS_BETWEEN);
  assert.equal((await far.register(greet("cut-ts"))).status, "duplicate");
  assert.equal((await far.register(greet("busy-ts"))).status, "accepted");
  assert.equal((await far.register(greet("gate-ts"))).status, "accepted");
});

test("many are registered and found page by page", engine, async () => {
  const client = new Client(server);
  const orders = Array.from({ length: 250 }, (_, number) => ({ ...greet(`ts-many-${number}`), labels: { walk: "ts" } }));
  const outcomes = await client.registerMany([...orders, { id: "ts-wrong", scenario: "nothing" }]);
  assert.deepEqual([outcomes[250].status, outcomes[250].id], ["rejected", "ts-wrong"]);
  assert.equal(outcomes.filter((outcome) => outcome.status === "accepted").length, 250);
  const found = [];
  for await (const order of client.find({ "labels.walk": "ts", limit: 100 })) found.push(order.id);
  assert.deepEqual(found.sort(), orders.map((order) => order.id).sort());
});

test("what is wrong is reported with its place", engine, async () => {
  const client = new Client(server);
  const wrong = await client.register({ ...greet("ts-2"), priority: "urgent" }).catch((failure) => failure);
  assert.deepEqual([wrong.kind, wrong.status, wrong.errors[0].pointer], ["invalid", 422, "/priority"]);
  await assert.rejects(client.register({ id: "ts-2", scenario: "nothing" }), kind("unknown-scenario"));
  await assert.rejects(client.get("ts-2"), kind("not-found"));
});

test("a call asks, and actions act", engine, async () => {
  const client = new Client(server);
  await client.register({ id: "ts-3", scenario: "ask" }, { traceparent: trace });
  await reach(client, "ts-3", "wait");
  assert.equal((await client.wait("ts-3", 0)).final, false);
  assert.deepEqual((await client.call("ts-3", "where")).answer, { place: "here" });
  const refused = await client.restart("ts-3", "too early").catch((failure) => failure);
  assert.deepEqual([refused.kind, refused.orderStatus], ["refused", "wait"]);
  assert.ok(await client.explain("ts-3"));
  assert.equal(await client.answer("nobody's", { yes: true }, "done"), "orphan");
  await client.repair("ts-3", "by hand", { state: "ask" });
  await reach(client, "ts-3", "wait");
  assert.equal((await client.kill("ts-3", "nobody waits for it")).final, true);
  assert.equal((await client.clone("ts-3", { id: "ts-4" })).status, "accepted");
  await client.register(greet("ts-6"));
  await client.wait("ts-6", 30);
  assert.equal((await client.restart("ts-6", "once more", "initial")).life, 2);
  await client.register({ ...greet("ts-5"), lifecycle: { startAt: "2100-01-01T00:00:00Z" } });
  assert.equal((await client.update("ts-5", "urgent", { priority: "high" })).priority, "high");
  assert.equal((await client.interrupt("ts-5", "not now")).status, "interrupted");
  assert.equal((await client.cancel("ts-5", "never")).status, "canceled");
});
