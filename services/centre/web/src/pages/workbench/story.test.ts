import assert from "node:assert/strict";
import { test } from "node:test";
import { drawnAt, milliseconds, pathOf, spelled, staysOf, stepsOf, unansweredIn, widthOf } from "./story";

const STORY = [
    { after: "0s", text: "the order begins at `reserve`" },
    { after: "200ms", text: "POST http://billing/a:b/reservations: 503" },
    { after: "200ms", text: "log: `x` went to `y`" },
    { after: "200ms", text: "retries at 2026-03-01T10:00:02.000Z (system.unavailable: no)" },
    { after: "2s200ms", text: "POST http://billing/a:b/reservations: 201", vars: { a: 1 } },
    { after: "2s200ms", text: "`reserve` call:change-address to `activate`" },
    { after: "2s200ms", text: "amqp network activate: published" },
    { after: "1d2s200ms", text: "the order ends `fail` in `activate`: too late" },
];

test("a story is read into steps with the place of the order", () => {
    const steps = stepsOf(STORY);
    assert.deepEqual(
        steps.map((step) => step.kind),
        ["begin", "request", "log", "retry", "request", "move", "request", "end"],
    );
    assert.deepEqual(steps[1]?.asked, "POST http://billing/a:b/reservations");
    assert.deepEqual(steps[1]?.outcome, "503");
    assert.deepEqual(steps[2]?.state, "reserve");
    assert.deepEqual(steps[3]?.vars, {});
    assert.deepEqual(steps[7]?.vars, { a: 1 });
    assert.deepEqual(steps[7]?.at, 86_402_200);
    assert.deepEqual(pathOf(steps), ["reserve", "activate"]);
});

test("a graph at a step shows what was before it, and nothing of later", () => {
    const steps = stepsOf(STORY);
    assert.deepEqual([...drawnAt(steps, 1).states], [["reserve", "present"]]);
    assert.deepEqual([...drawnAt(steps, 1).taken], []);
    const end = drawnAt(steps, 7);
    assert.deepEqual([...end.states], [["reserve", "passed"], ["activate", "failed"]]);
    assert.deepEqual([...end.taken], ["reserve call:change-address activate"]);
});

test("a duration is the same after it is spelled", () => {
    for (const text of ["0s", "200ms", "1d5s200ms", "8m30s", "1h"]) assert.equal(spelled(milliseconds(text)), text);
});

test("the request without an answer is found in the faults", () => {
    const message = "no answer is left for `POST http://a/b` with body {\"x\":\"`\"} in `pay`; the last failure before it was x: y";
    assert.deepEqual(unansweredIn([{ message }]), { asked: "POST http://a/b", state: "pay" });
    assert.equal(unansweredIn([{ message: "other" }]), undefined);
});

test("stays follow each other without a gap", () => {
    assert.deepEqual(staysOf(stepsOf(STORY)), [
        { state: "reserve", first: 0, end: 5, length: 2_200 },
        { state: "activate", first: 5, end: 8, length: 86_400_000 },
    ]);
    assert.deepEqual(staysOf([]), []);
    assert.deepEqual([0, 9, 1_000, 86_400_000, 1e15].map(widthOf), [1, 2, 4, 9, 10]);
});
