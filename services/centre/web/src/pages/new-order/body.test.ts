import { test } from "node:test";
import assert from "node:assert/strict";
import { bodyOf, changesOf, draftOf, emptyDraft, NO_RECEIVER, passedOf, receiverPointers } from "./body";
import { refusalOf } from "./faults";

const NOW = Date.parse("2026-01-02T12:00:00Z");

test("what is left empty is left out of the body", () => {
    assert.deepEqual(bodyOf(emptyDraft("a", "s"), { x: 1 }, true), { id: "a", scenario: "s", params: { x: 1 } });
});

test("everything that is typed stands in the body under the API's names", () => {
    const draft = {
        ...emptyDraft("a", "s"),
        version: "2",
        mode: "sequential" as const,
        queue: "q",
        priority: "high" as const,
        transactionId: " t ",
        flow: [{ name: "region", value: "200" }],
        startAt: "2026-01-03T10:00:00",
        periodToStart: "3000",
        promiseAt: "2026-01-03T11:00:00",
        after: [{ order: "b", states: "done, failed", otherwise: "fail" }],
        receivers: [{ ...NO_RECEIVER, url: "amqp://?queue=x", on: ["final"] }],
    };
    assert.deepEqual(bodyOf(draft, {}, true), {
        id: "a",
        scenario: "s",
        scenarioVersion: 2,
        params: {},
        mode: "sequential",
        queue: "q",
        priority: "high",
        transactionId: "t",
        flow: { region: "200" },
        lifecycle: {
            startAt: "2026-01-03T10:00:00Z",
            periodToStart: 3000,
            promiseAt: "2026-01-03T11:00:00Z",
            after: [{ order: "b", states: ["done", "failed"], otherwise: "fail" }],
        },
        notify: { url: "amqp://?queue=x", on: ["final"] },
    });
});

test("what is wrong is sent as it is, so that the server says so at its field", () => {
    const body = bodyOf({ ...emptyDraft("a", "s"), periodToStart: "soon", receivers: [{ ...NO_RECEIVER, url: "foo" }] }, {}, true);
    assert.deepEqual([body["lifecycle"], body["notify"]], [{ periodToStart: "soon" }, { url: "foo" }]);
});

const order = {
    id: "old",
    scenario: "s",
    mode: "sequential",
    queue: "q",
    priority: "low",
    transactionId: null,
    startAt: "2026-01-03T00:00:00Z",
    startDeadline: "2026-01-02T01:00:00Z",
    createdAt: "2026-01-02T00:00:00Z",
    promise: { promiseAt: "2026-01-01T00:00:00Z" },
    after: [
        { order: "old", after: "open", kind: "condition", states: ["done"], otherwise: "wait", settledAt: null },
        { order: "old", after: "met", kind: "condition", states: ["done"], otherwise: "wait", settledAt: "2026-01-01T00:00:00Z" },
    ],
    notify: { url: "amqp://?queue=x", on: ["final"] },
} as unknown as Parameters<typeof draftOf>[0];

test("a clone has the ordered time, and not what has passed", () => {
    const draft = draftOf(order, "new", true, NOW);
    assert.deepEqual(
        [draft.id, draft.mode, draft.queue, draft.priority, draft.startAt, draft.periodToStart, draft.promiseAt],
        ["new", "sequential", "q", "low", "2026-01-03T00:00:00", "3600", ""],
    );
    assert.deepEqual(draft.after, [{ order: "open", states: "done", otherwise: "wait" }]);
    assert.deepEqual(passedOf(order, NOW), ["promiseAt"]);
});

test("ord_38 several receivers are a list, and what is left empty is none of them", () => {
    const queue = { ...NO_RECEIVER, url: " amqp://?queue=x " };
    const hook = { ...NO_RECEIVER, url: "https://h/x", on: ["final", "parked"], format: "cloudevents" };
    const sent = (...receivers: (typeof hook)[]) => bodyOf({ ...emptyDraft("a", "s"), receivers }, {}, true)["notify"];
    assert.equal(sent(NO_RECEIVER), undefined);
    assert.deepEqual(sent(NO_RECEIVER, queue), { url: "amqp://?queue=x" });
    const grouped = { ...queue, groupMax: "100", groupWithin: " 200ms " };
    assert.deepEqual(sent(grouped), { url: "amqp://?queue=x", group: { max: 100, within: "200ms" } });
    const both = [{ url: "amqp://?queue=x" }, { url: "https://h/x", on: ["final", "parked"], format: "cloudevents" }];
    assert.deepEqual(sent(queue, NO_RECEIVER, hook), both);
    assert.deepEqual(receiverPointers([queue, NO_RECEIVER, hook]), ["/notify/0", undefined, "/notify/1"]);
    assert.deepEqual(receiverPointers([NO_RECEIVER, hook]), [undefined, "/notify"]);
    const clone = draftOf({ ...order, notify: both }, "new", true, NOW);
    assert.deepEqual(bodyOf(clone, {}, true)["notify"], both);
});

test("only what was changed is laid over the old order", () => {
    const draft = draftOf(order, "new", true, NOW);
    const before = bodyOf(draft, { card: "***", amount: 1 }, true);
    assert.deepEqual(changesOf(before, before), { id: "new" });
    const changed = bodyOf({ ...draft, mode: "parallel", priority: "high", receivers: [NO_RECEIVER] }, { card: "***", amount: 1 }, true);
    assert.deepEqual(changesOf(before, changed), { id: "new", mode: null, queue: null, priority: "high", notify: null });
});

test("a refusal stands at its field, at the nearest around it, or above all", () => {
    const problem = {
        errors: [
            { pointer: "/queue", message: "is missing" },
            { pointer: "/params/address/city", message: "is no text", hint: "write one" },
            { pointer: "/params/x~1y", message: "is wrong" },
            { pointer: "/lifecycle/after/0/states", message: "must be a list" },
            { pointer: "", message: "too large" },
        ],
    };
    const { at, others } = refusalOf({ message: "", pointer: undefined, problem }, ["/queue", "/params", "/params/address", "/lifecycle/after/0"]);
    assert.deepEqual(
        [...at],
        [
            ["/queue", "is missing"],
            ["/params/address", "is no text (write one)"],
            ["/params", "is wrong"],
            ["/lifecycle/after/0", "must be a list"],
        ],
    );
    assert.deepEqual(others, ["too large"]);
    assert.deepEqual(refusalOf({ message: "there is no such scenario", pointer: "/scenario", problem: {} }, []).others, [
        "scenario: there is no such scenario",
    ]);
});
