import assert from "node:assert/strict";
import { test } from "node:test";
import { trialOf, type Recorded } from "./recorded";

const STEP = { life: 1, handOut: 1, node: "w", action: 0, key: null, bytes: 1, attempt: 1, class: null, error: null, at: "2026-01-01T00:00:00.000Z" };

const RECORDED = {
    order: {
        id: "A-1",
        transactionId: "t",
        queue: null,
        params: { n: 1 },
        createdAt: "2026-01-01T00:00:00.000Z",
        life: 1,
        status: "success",
        transitions: [{ life: 1, from: "a", to: "b" }, { life: 1, from: "b", to: "c" }],
    },
    steps: [
        { ...STEP, number: 1, state: "a", kind: "http", name: null, target: "POST 10.0.0.1:80/pay/1", durationMs: 300, status: 503, outcome: "answered" },
        { ...STEP, number: 2, state: "a", kind: "http", name: null, target: "POST 10.0.0.1:80/pay/1", durationMs: 300, status: 503, outcome: "answered" },
        { ...STEP, number: 3, state: "a", kind: "http", name: null, target: "POST 10.0.0.1:80/pay/1", durationMs: 5, status: null, outcome: "failed", error: "connection refused" },
        { ...STEP, number: 4, state: "a", kind: "http", name: "activation", target: "POST net/ask", durationMs: 0, status: 202, outcome: "answered" },
        { ...STEP, number: 5, state: "a", kind: "actor", name: "scoring", target: "scoring", durationMs: 1, status: null, outcome: "sent" },
        { ...STEP, number: 6, life: 2, state: "a", kind: "http", name: null, target: "GET x/y", durationMs: 0, status: 200, outcome: "answered" },
    ],
    callbacks: [
        { request: "activation", life: 1, verdict: "late", body: 0, headers: {}, stepStatus: null, receivedAt: "2026-01-01T00:00:01.000Z" },
        { request: "activation", life: 1, verdict: "accepted", body: { code: 0 }, headers: {}, stepStatus: "ok", receivedAt: "2026-01-01T00:00:02.000Z" },
    ],
} as unknown as Recorded;

test("an order is a trial with the answers that it got", () => {
    const trial = trialOf(RECORDED);
    const pay = { kind: "http", method: "POST", target: "**/pay/1" };
    assert.deepEqual(trial.answers, [
        { asked: pay, after: "300ms", times: 2, status: 503 },
        { asked: pay, after: "5ms", times: 1, fails: "ConnectionRefused" },
        { asked: { kind: "http", method: "POST", target: "**/ask" }, times: 1, status: 202, callback: { after: "2s", body: { code: 0 }, stepStatus: "ok" } },
        { asked: { kind: "actor", target: "scoring" }, times: 1, decision: "none" },
    ]);
    assert.deepEqual(trial.params, { n: 1 });
    assert.deepEqual(trial.order, { id: "A-1", transactionId: "t" });
    assert.deepEqual(trial.expect, { status: "success", path: ["a", "b", "c"] });
});

test("nothing is expected of an order that was restarted, or that goes on", () => {
    const restarted = { ...RECORDED, order: { ...RECORDED.order, life: 2 } } as Recorded;
    assert.deepEqual(trialOf(restarted).expect, {});
    const live = { ...RECORDED, order: { ...RECORDED.order, status: "wait" } } as Recorded;
    assert.deepEqual(trialOf(live).expect, {});
});
