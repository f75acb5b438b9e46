import assert from "node:assert/strict";
import { test } from "node:test";
import { answersAll, askedText, callbackText, replyText } from "./answer-text";
import { expectationOf } from "./expected";
import { stepsOf } from "./story";
import { toAll } from "./trial";

const TO_ALL = toAll();

const TRIED = {
    test: "x",
    passed: true,
    duration: "2s",
    faults: [],
    notes: [],
    story: [
        { after: "0s", text: "the order begins at `a`" },
        { after: "0s", text: "POST http://b/c: 503" },
        { after: "2s", text: "POST http://b/c: 200" },
        { after: "2s", text: "`a` success to `b`" },
        { after: "2s", text: "the order ends `success` in `b`" },
    ],
};

test("what happened is what is expected", () => {
    assert.deepEqual(expectationOf(TRIED, stepsOf(TRIED.story)), { status: "success", path: ["a", "b"], requests: ["POST http://b/c", "POST http://b/c"], duration: "2s" });
});

test("a story that broke off has no end to expect", () => {
    assert.deepEqual(expectationOf(TRIED, stepsOf(TRIED.story.slice(0, 2))), { path: ["a"], requests: ["POST http://b/c"] });
});

test("a line of the table at a glance", () => {
    assert.deepEqual(TO_ALL.map(askedText), ["http **", "amqp **", "actor **", "order **"]);
    assert.deepEqual(TO_ALL.map(replyText), ["200", "published", "success", "success"]);
    assert.ok(TO_ALL.every(answersAll));
    const answer = { asked: { kind: "amqp" as const, target: "x", key: "k", body: { a: 1 } }, callback: { after: "5s", body: { code: 0 } } };
    assert.equal(askedText(answer), "amqp x k {a: 1}");
    assert.equal(callbackText(answer), "5s {code: 0}");
    assert.equal(callbackText({ asked: { kind: "http" }, callback: "none" }), "");
    assert.equal(replyText({ asked: { kind: "actor" }, decision: "fail", error: { class: "a.b" } }), "fail {class: a.b}");
    assert.ok(!answersAll(answer));
});
