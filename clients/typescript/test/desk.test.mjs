// The order of things in an actor and a receiver, without a broker.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import test from "node:test";

import { Busy, Problem, Refused } from "pagurus-client";
import { Actor, Fail } from "pagurus-client/actor";
import { AmqpReceiver, AmqpSender } from "pagurus-client/amqp";

import { Desk } from "../dist/amqp/desk.js";
import { Inbox } from "../dist/amqp/inbox.js";
import { problem } from "../dist/failure.js";

const quiet = { info: () => {}, warn: () => {}, error: () => {} };
const soon = () => new Promise(setImmediate);

/** A message as it comes from a queue; its channel is open unless it says otherwise. */
function message(fields, isOpen = () => true) {
  const came = { acknowledged: 0, requeued: 0, dropped: 0 };
  const content = typeof fields === "string" ? fields : JSON.stringify(fields);
  return Object.assign(came, {
    content: new TextEncoder().encode(content),
    ack: () => isOpen() && ++came.acknowledged > 0,
    requeue: () => ++came.requeued,
    drop: () => ++came.dropped,
  });
}

const task = (pass, isOpen, workTimeoutMs = 60_000) =>
  message({ task: "t", pass, actor: "a", order: "o", transactionId: null, handOut: 1, workTimeoutMs, body: {} }, isOpen);

/** A desk with a way to the engine that notes what is said. */
function desk(handler, prefetch = 4) {
  const one = new Desk(handler, prefetch, quiet);
  const said = [];
  const voice = { say: async (kind, pass, json, retryAfter) => void said.push([kind, pass, JSON.parse(json), retryAfter]), lose: () => {} };
  one.open(voice);
  return { one, said, voice };
}

/** Names of what a module of the package imports that is not in the package, over all that it imports. */
function foreign(module) {
  const modules = [new URL(`../dist/${module}`, import.meta.url).href];
  const others = [];
  for (const place of modules) {
    for (const [, name] of readFileSync(new URL(place), "utf8").matchAll(/(?:from|import\() ?"([^"]+)"/g)) {
      if (!name.startsWith(".")) others.push(name);
      const next = new URL(module.endsWith(".d.ts") ? name.replace(/\.js$/, ".d.ts") : name, place).href;
      if (name.startsWith(".") && !modules.includes(next)) modules.push(next);
    }
  }
  return others;
}

/** A function that waits until it may go on. */
function held() {
  const runs = [];
  const handler = (task) => new Promise((resolve) => runs.push({ task, end: resolve }));
  return { runs, handler };
}

test("a task that comes again is worked on once", async () => {
  const { runs, handler } = held();
  const { one, said } = desk(handler);
  const [first, second] = [task("p"), task("p")];
  one.take(first);
  one.take(second);
  assert.deepEqual([first.acknowledged, second.acknowledged], [0, 0], "nothing is acknowledged before the broker has the decision");
  runs[0].end("done");
  await one.idle();
  assert.deepEqual([runs.length, first.acknowledged, second.acknowledged], [1, 1, 1]);
  assert.deepEqual(said, [["decision", "p", { decision: "success", result: "done" }, undefined]]);
});

test("a task that was decided over another connection is not worked on again", async () => {
  for (const isLate of [false, true]) {
    const { runs, handler } = held();
    const { one, said, voice } = desk(handler);
    let isOpen = true;
    one.take(task("p", () => isOpen));
    isOpen = false;
    // That the channel is lost may be noticed only after the decision.
    if (!isLate) one.leave();
    runs[0].end(1);
    await soon();
    assert.equal(said.length, isLate ? 1 : 0, "without a way to the engine the decision waits");
    one.open(voice);
    await one.idle();
    const again = task("p");
    one.take(again);
    assert.deepEqual([runs.length, again.acknowledged], [1, 1]);
  }
});

test("a decision that the broker did not take is sent over the next channel", async () => {
  const { one, said, voice } = desk(() => 1);
  const lost = [];
  one.open({ say: () => Promise.reject(new Error("cut")), lose: (reason) => lost.push(reason.message) });
  const first = task("p");
  one.take(first);
  await soon();
  assert.deepEqual([lost, first.acknowledged], [["cut"], 0]);
  one.leave();
  one.open(voice);
  await one.idle();
  assert.equal(said.length, 1);
});

test("a task that is given up is aborted, its result is not sent, and it starts again", async () => {
  const { runs, handler } = held();
  const { one, said } = desk(handler, 1);
  const [first, second] = [task("p"), task("p")];
  one.take(first);
  one.take(second);
  one.giveUp(task("p").content);
  assert.deepEqual([runs.length, runs[0].task.canceled.aborted, runs[1].task.canceled.aborted], [2, true, false]);
  assert.equal(first.acknowledged, 0, "it counts as at work until its function returns");
  runs[0].end("of the first");
  await soon();
  assert.deepEqual([first.acknowledged, second.acknowledged, said], [1, 0, []]);
  runs[1].end("of the second");
  await one.idle();
  assert.deepEqual([second.acknowledged, said[0][2].result], [1, "of the second"]);
  one.giveUp(task("p").content);
  one.giveUp(message("?").content);
});

test("no more tasks are at work than were asked for, those of a lost connection included", async () => {
  const { runs, handler } = held();
  const { one, voice } = desk(handler, 1);
  one.take(task("a"));
  one.leave();
  one.open(voice);
  const [second, third] = [task("b"), task("c", undefined, 0)];
  one.take(second);
  one.take(third);
  assert.equal(runs.length, 1);
  runs[0].end();
  await soon();
  assert.deepEqual(runs.map((run) => run.task.pass), ["a", "b"]);
  runs[1].end();
  await soon();
  assert.deepEqual([runs.length, third.acknowledged], [2, 1], "its time was over before it could start");
});

test("a desk that stops starts nothing, and gives back what waits", async () => {
  const { runs, handler } = held();
  const { one, said } = desk(handler, 1);
  const [first, second, third] = [task("a"), task("b"), task("c")];
  one.take(first);
  one.take(second);
  one.stop();
  one.take(third);
  assert.deepEqual([second.requeued, third.requeued, one.isBusy], [1, 1, true]);
  runs[0].end();
  await one.idle();
  assert.deepEqual([runs.length, first.acknowledged, said.length], [1, 1, 1]);
});

test("heartbeats go out while a function runs, and at once over a new channel", async (context) => {
  context.mock.timers.enable({ apis: ["setInterval"] });
  const { runs, handler } = held();
  const { one, said, voice } = desk(handler);
  one.take(task("p", undefined, 3000));
  context.mock.timers.tick(999);
  assert.deepEqual(said, []);
  context.mock.timers.tick(1);
  await soon();
  context.mock.timers.tick(1000);
  await soon();
  assert.deepEqual(said.map(([kind, pass]) => [kind, pass]), [["heartbeat", "p"], ["heartbeat", "p"]]);
  one.leave();
  context.mock.timers.tick(5000);
  one.open(voice);
  await soon();
  assert.equal(said.length, 3);
  runs[0].end();
  await one.idle();
  context.mock.timers.tick(60_000);
  assert.deepEqual(said.map(([kind]) => kind), ["heartbeat", "heartbeat", "heartbeat", "decision"]);
});

test("failures are decisions", async () => {
  const circle = {};
  circle.circle = circle;
  const handlers = [
    () => { throw new Fail("scoring.busy", "later", { result: { a: 1 }, retryAfter: 29.5 }); },
    async () => { throw new RangeError("too far"); },
    () => { throw "a text"; },
    () => circle,
    () => { throw new Fail("scoring.odd", "no JSON", { result: 7n }); },
    () => undefined,
    () => () => {},
  ];
  const decisions = [];
  for (const handler of handlers) {
    const { one, said } = desk(handler);
    one.take(task("p"));
    await one.idle();
    const [[, , decision, retryAfter]] = said;
    decisions.push([decision.error?.class ?? decision.decision, decision.result, retryAfter]);
  }
  assert.deepEqual(decisions, [
    ["scoring.busy", { a: 1 }, 30],
    ["actor.RangeError", null, undefined],
    ["actor.Error", null, undefined],
    ["actor.TypeError", null, undefined],
    ["scoring.odd", "7", undefined],
    ["success", null, undefined],
    ["success", null, undefined],
  ]);
});

test("what is no task is dropped", () => {
  const { one } = desk(() => 1);
  for (const content of ["", "null", "[]", "{}", '{"task": "t", "pass": 1}']) {
    const odd = message(content);
    one.take(odd);
    assert.equal(odd.dropped, 1, content);
  }
});

test("a notification is acknowledged when it is handled, and handled once", async () => {
  const stop = new AbortController();
  const runs = [];
  const handler = (notification) => new Promise((resolve, reject) => runs.push({ notification, resolve, reject }));
  const inbox = new Inbox({ queue: "q" }, handler, quiet, stop.signal);
  const properties = { messageId: "m", type: "order.final", correlationId: "c", headers: { sequence: 3 } };
  const [first, copy, other, odd] = [message({ id: "o" }), message({ id: "o" }), message({ id: "p" }), message("?")];
  inbox.take(first, properties);
  inbox.take(copy, properties);
  inbox.take(other, { ...properties, messageId: "n" });
  inbox.take(odd, properties);
  assert.deepEqual([runs.length, first.acknowledged, odd.dropped], [1, 0, 1], "one at a time");
  const { id, type, correlationId, sequence, content } = runs[0].notification;
  assert.deepEqual([id, type, correlationId, sequence, content], ["m", "order.final", "c", 3, { id: "o" }]);
  runs[0].resolve();
  await soon();
  assert.deepEqual([runs.length, first.acknowledged, copy.acknowledged], [2, 1, 1]);
  await inbox.leave();
  runs[1].resolve();
  await inbox.idle();
  const again = message({ id: "p" });
  inbox.take(again, { ...properties, messageId: "n" });
  assert.deepEqual([runs.length, other.acknowledged, again.acknowledged], [2, 0, 1]);
  inbox.take(message({ id: "r" }), { ...properties, messageId: "r" });
  runs[2].reject(new Error("not now"));
  stop.abort();
  await inbox.idle();
  const late = message({ id: "s" });
  inbox.take(late, properties);
  assert.equal(late.requeued, 1);
});

test("mistakes of the program are reported at once", async () => {
  assert.throws(() => new Actor().task("a", () => 1).task("a", () => 2), /function already/);
  await assert.rejects(new Actor().serve(), /no function/);
  for (const prefetch of [0, 1.5, 65_536]) assert.throws(() => new Actor({ prefetch }), RangeError);
  assert.throws(() => new AmqpReceiver({ queue: "q", prefetch: 0 }), RangeError);
  assert.throws(() => new AmqpSender({ url: "here" }), TypeError);
});

test("problems have the classes of their kinds", () => {
  const body = (kind) => ({ type: `urn:pagurus:problem:${kind}`, title: "t", status: 409, detail: "d" });
  assert.ok(problem(body("refused")) instanceof Refused);
  assert.deepEqual([problem(body("busy")).constructor, problem(body("busy")).isPassing], [Busy, true]);
  for (const kind of ["of-tomorrow", "constructor"]) assert.equal(problem(body(kind)).constructor, Problem);
  assert.equal(problem(body("refused")).name, "Refused");
});

test("what browsers load needs nothing else", () => {
  assert.deepEqual(foreign("index.js"), []);
  assert.deepEqual(foreign("amqp/actor.js"), ["amqplib"]);
  // Nor do types need those of Node.
  assert.deepEqual([...foreign("amqp/actor.d.ts"), ...foreign("amqp/index.d.ts")], []);
});
