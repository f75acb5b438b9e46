import assert from "node:assert/strict";
import { test } from "node:test";
import { stepsOf } from "./story";
import { toAll, type Answer } from "./trial";

const TO_ALL = toAll();
import { askedBy, changed, maskFits, mayAnswer } from "./what-if";

const POST = "POST http://b/pay";
const story = (...lines: string[]) => stepsOf(lines.map((line) => ({ after: "0s", text: `${line}: 200` })));
const asked = askedBy(POST);

test("lines of a story say who was asked", () => {
    assert.deepEqual(askedBy(POST), { kind: "http", method: "POST", target: "http://b/pay" });
    assert.deepEqual(askedBy("amqp network a.b"), { kind: "amqp", target: "network", key: "a.b" });
    assert.deepEqual(askedBy("amqp  key"), { kind: "amqp", target: "", key: "key" });
    assert.deepEqual(askedBy("actor scoring"), { kind: "actor", target: "scoring" });
});

test("a star stays within a segment, two do not", () => {
    assert.ok(maskFits("http://b/*/x", "http://b/1/x"));
    assert.ok(!maskFits("http://b/*/x", "http://b/1/2/x"));
    assert.ok(maskFits("http://b/**", "http://b/1/2/x?y=(1)"));
    assert.ok(!maskFits("http://b.c", "http://bxc"));
    assert.ok(mayAnswer({ asked: { kind: "http", target: "http://b/p" } }, askedBy("GET http://b/p?q=1")));
    assert.ok(!mayAnswer({ asked: { kind: "http", target: "http://b/p?q=2" } }, askedBy("GET http://b/p?q=1")));
    assert.ok(mayAnswer({ asked: { kind: "amqp" } }, askedBy("amqp x y")));
});

test("the first request is answered otherwise once, or always", () => {
    const steps = story(POST, POST);
    assert.deepEqual(changed(TO_ALL, steps, 0, { instead: { status: 503 }, always: false }), [{ asked, status: 503, times: 1 }, ...TO_ALL]);
    assert.deepEqual(changed(TO_ALL, steps, 0, { instead: { status: 503 }, always: true }), [{ asked, status: 503 }, ...TO_ALL]);
});

test("requests of the same line before it keep their answers", () => {
    const table: Answer[] = [{ asked, status: 201, times: 2 }, { asked: { kind: "http", target: "**" }, status: 200 }];
    const steps = story(POST, POST, "GET http://b/x", POST, POST);
    assert.deepEqual(changed(table, steps, 4, { instead: { status: 404 }, always: false }), [
        { asked, status: 201, times: 2 },
        { asked, status: 200, times: 1 },
        { asked, status: 404, times: 1 },
        { asked: { kind: "http", target: "**" }, status: 200 },
    ]);
});

test("another try at the same request takes the place of the first", () => {
    const steps = story(POST);
    const once = changed(TO_ALL, steps, 0, { instead: { status: 503 }, always: false });
    const twice = changed(once, steps, 0, { instead: { status: 404 }, always: false });
    assert.deepEqual(twice, [{ asked, status: 404, times: 1 }, ...TO_ALL]);
});
