import assert from "node:assert/strict";
import { test } from "node:test";
import { asTest, type Recorded } from "./as-test";

const step = { life: 1, kind: "http", name: null, target: "POST host/do", status: 200, outcome: "answered", class: null, error: null, durationMs: 30, at: "2026-01-01T00:00:00.000Z" };
const recorded = {
    order: {
        id: 'A"1',
        scenario: "activate",
        createdAt: "2026-01-01T00:00:00.000Z",
        params: { a: 1 },
        transactionId: "T",
        queue: null,
        life: 1,
        status: "fail",
        error: { class: "system.unavailable", message: "away" },
        transitions: [{ life: 1, from: "ask", event: "fail", to: "failed" }],
    },
    steps: [
        { ...step, status: 503, outcome: "failed" },
        { ...step, name: "answer", at: "2026-01-01T00:00:01.000Z" },
        { ...step, status: null, error: "no answer within 5s" },
        { ...step, life: 2 },
    ],
    callbacks: [{ life: 1, request: "answer", verdict: "accepted", body: { code: 0 }, stepStatus: null, receivedAt: "2026-01-01T00:00:03.000Z" }],
} as unknown as Recorded;

test("an order becomes a test with its answers in order", () => {
    assert.deepEqual(asTest(recorded).trimEnd().split("\n"), [
        "scenario: activate.yaml",
        "tests:",
        '  - test: "as A\\"1"',
        "    now: 2026-01-01T00:00:00.000Z",
        '    params: {"a":1}',
        '    order: {"id":"A\\"1","transactionId":"T"}',
        "    answers:",
        '      - {"http":"POST http://host/do","status":503,"after":"30ms","times":1}',
        '      - {"http":"POST http://host/do","status":200,"after":"30ms","times":1,"callback":{"after":"2000ms","body":{"code":0}}}',
        '      - {"http":"POST http://host/do","fails":"ReadTimeout","times":1}',
        '    expect: {"status":"fail","error":"system.unavailable","path":["ask","failed"]}',
    ]);
});

test("the end of a test is that of its scenario, and an error has its most exact name", () => {
    const steps = [{ ...recorded.steps[0], status: null, error: "refused (HttpError > ConnectionRefused)" }] as Recorded["steps"];
    const text = asTest({ ...recorded, steps, order: { ...recorded.order, status: "canceled" } });
    assert.match(text, /"fails":"ConnectionRefused"/);
    assert.ok(text.endsWith('expect: {"path":["ask","failed"]}\n'));
});

test("an order without steps has no answers", () => {
    assert.ok(!asTest({ ...recorded, steps: [] }).includes("answers"));
});
