import assert from "node:assert/strict";
import { test } from "node:test";
import { ended, permitted, type Order } from "./permitted";

const order = (status: string, more: Partial<Order> = {}) => ({ status, error: null, unsentNotifications: [], ...more });

test("each status permits what the engine's law permits", () => {
    assert.deepEqual(permitted(order("new")), ["interrupt", "cancel", "update", "call"]);
    assert.deepEqual(permitted(order("postponed")), ["interrupt", "cancel", "update", "call"]);
    assert.deepEqual(permitted(order("running")), ["kill", "call"]);
    assert.deepEqual(permitted(order("sleep")), ["cancel", "update", "repair", "call"]);
    assert.deepEqual(permitted(order("wait")), ["kill", "repair", "call"]);
    assert.deepEqual(permitted(order("fail")), ["restart", "cancel", "repair"]);
    assert.deepEqual(permitted(order("success")), ["restart"]);
    assert.deepEqual(permitted(order("interrupted")), ["cancel"]);
    assert.deepEqual(permitted(order("canceled")), []);
});

test("an order that its node gave up may be run again", () => {
    const error = { class: "node.stopped", message: "its node stopped" };
    assert.deepEqual(permitted(order("canceled", { error })), ["restart"]);
});

test("parked notifications and contradictions have an action of their own", () => {
    const unsent = { kind: "final", life: 1, attempts: 3, target: "amqp://?key=k", lastError: null, parkedBecause: "unroutable", nextAt: null };
    const inconsistent = { findings: ["x"], foundAt: "2026-01-01T00:00:00Z" };
    assert.deepEqual(permitted(order("success", { unsentNotifications: [unsent], inconsistent })), ["restart", "resend", "check"]);
});

test("four statuses are ends", () => {
    assert.ok(ended(order("canceled")) && ended(order("success")));
    assert.ok(!ended(order("reopen")));
});
