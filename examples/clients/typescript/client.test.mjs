// Against a running engine: PAGURUS_SERVER says where, COMPILED where the compiled client is. The scenario `greet` answers at once, `ask`
// asks somebody and waits.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import test from "node:test";
import { webcrypto } from "node:crypto";

// Node 18 has it under another name.
globalThis.crypto ??= webcrypto;
const { Client, NotGenuine, Problem, Unreachable, notification } = await import(process.env.COMPILED);

const here = new URL(".", import.meta.url);
const server = process.env.PAGURUS_SERVER;
const kind = (kind) => (failure) => failure instanceof Problem && failure.kind === kind;

/** The fields of an interface, each with true if it must be there. */
function fields(source, name) {
  const body = source.match(new RegExp(`export interface ${name} {\\n(.*?)\\n}`, "s"))[1];
  return new Map([...body.matchAll(/^ {2}(\w+)(\??):/gm)].map(([, field, optional]) => [field, optional === ""]));
}

test("types are those of the document", () => {
  const source = readFileSync(new URL("pagurus-client.ts", here), "utf8");
  const { schemas } = JSON.parse(readFileSync(new URL("../../../docs/openapi.json", here), "utf8")).components;
  const pairs = { Order: "OrderBody", Lifecycle: "LifecycleBody", After: "AfterBody", Notify: "NotifyBody" };
  const views = { Registered: "RegisteredView", Status: "StatusView", Call: "CallView", Detail: "Detail" };
  for (const [ours, theirs] of Object.entries({ ...pairs, ...views })) {
    const known = fields(source, ours);
    for (const field of known.keys()) assert.ok(field in schemas[theirs].properties, `${theirs}.${field}`);
    const required = [...known].filter(([, must]) => must).map(([field]) => field);
    assert.deepEqual(required.sort(), [...(schemas[theirs].required ?? [])].sort(), theirs);
  }
});

test("webhooks are taken from those who know the secret", async () => {
  const secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
  const headers = {
    "webhook-id": "msg_p5jXN8AQM9LWM0D4loKWxJek",
    "webhook-timestamp": "1614265330",
    "webhook-signature": "v1,other v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
  };
  const body = Buffer.from('{"test": 2432232314}');
  const checked = (by, sent, at) => notification(by, (name) => headers[name], sent, at);
  assert.deepEqual(await checked(secret, body, 1614265331), { test: 2432232314 });
  await assert.rejects(checked(secret, Buffer.from("{}"), 1614265331), NotGenuine);
  await assert.rejects(checked(secret, body, 1614266000), NotGenuine);
  await assert.rejects(checked("another", body, 1614265331), NotGenuine);
});

test("who is away is called again, and then reported", async () => {
  let asked = 0;
  const turns = createServer((_, answer) => {
    asked += 1;
    const busy = { type: "urn:pagurus:problem:busy", title: "t", status: 429, detail: "d" };
    answer.writeHead(asked < 3 ? 429 : 201, { connection: "close" });
    answer.end(JSON.stringify(asked < 3 ? busy : { id: "a", status: "accepted" }));
  });
  await new Promise((done) => turns.listen(0, "127.0.0.1", done));
  const address = `http://127.0.0.1:${turns.address().port}`;
  assert.equal((await new Client(address).register({ id: "a", scenario: "s" })).status, "accepted");
  assert.equal(asked, 3);
  await new Promise((done) => turns.close(done));
  await assert.rejects(new Client(address, 0.5).register({ id: "a", scenario: "s" }), Unreachable);
});

test("an order is registered once and followed to its end", { skip: !server }, async () => {
  const client = new Client(server);
  const order = { id: "ts/1", scenario: "greet", params: { name: "a" } };
  assert.equal((await client.register(order)).status, "accepted");
  assert.equal((await client.wait("ts/1", 30)).final, true);
  const again = await client.register(order);
  assert.deepEqual([again.status, again.orderStatus], ["duplicate", "success"]);
  assert.equal((await client.get("ts/1")).result, "hello a");
  const found = [];
  for await (const one of client.find({ ids: "ts/1" })) found.push(one.id);
  assert.deepEqual(found, ["ts/1"]);
  await assert.rejects(client.register({ ...order, params: { name: "b" } }), kind("conflict"));
});

test("what is wrong is reported with its place", { skip: !server }, async () => {
  const client = new Client(server);
  const wrong = await client.register({ id: "ts-2", scenario: "greet", priority: "urgent" }).catch((failure) => failure);
  assert.deepEqual([wrong.kind, wrong.status, wrong.errors[0].pointer], ["invalid", 422, "/priority"]);
  await assert.rejects(client.register({ id: "ts-2", scenario: "nothing" }), kind("unknown-scenario"));
  await assert.rejects(client.get("ts-2"), kind("not-found"));
});

test("a request is answered, a call asks, and actions act", { skip: !server }, async () => {
  const client = new Client(server);
  await client.register({ id: "ts-3", scenario: "ask" });
  assert.equal((await client.wait("ts-3", 1)).final, false);
  assert.deepEqual((await client.call("ts-3", "where")).answer, { place: "here" });
  const refused = await client.restart("ts-3", "too early").catch((failure) => failure);
  assert.deepEqual([refused.kind, refused.orderStatus], ["refused", "wait"]);
  assert.equal((await client.status("ts-3")).status, "wait");
  assert.ok(await client.explain("ts-3"));
  assert.equal(await client.answer("nobody's", { yes: true }, "done"), "orphan");
  assert.equal((await client.kill("ts-3", "nobody waits for it")).final, true);
  await client.register({ id: "ts-4", scenario: "greet", params: { name: "b" } });
  await client.wait("ts-4", 30);
  assert.equal((await client.restart("ts-4", "once more", "initial")).life, 2);
  assert.equal((await client.wait("ts-4", 30)).status, "success");
});
