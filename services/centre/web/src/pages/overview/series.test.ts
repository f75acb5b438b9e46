import { test } from "node:test";
import assert from "node:assert/strict";
import { countsOf, ENDED, linesOf, ratesOf } from "./series";

const step = (at: string, registered: number, fail = 0) => ({ at, registered, success: registered - fail, fail, interrupted: 0, canceled: 0, stages: 0, calls: 0 });
const stats = {
    at: "2026-01-01T00:04:30.000Z",
    since: "2026-01-01T00:00:00.000Z",
    stepSeconds: 60,
    steps: [step("2026-01-01T00:01:00.000Z", 60, 6), step("2026-01-01T00:03:00.000Z", 30), step("2026-01-01T00:04:00.000Z", 5)],
};

test("steps in which nothing happened are zero, and the step that is under way is left out", () => {
    const lines = linesOf(stats);
    assert.deepEqual(countsOf(lines, ["registered"]), [0, 60, 0, 30]);
    assert.deepEqual(lines.times, [0, 60, 120, 180].map((second) => Date.parse(stats.since) / 1_000 + second));
});

test("a step waits for the last counts of its processes", () => {
    const counts = (at: string) => countsOf(linesOf({ ...stats, at }), ["registered"]);
    assert.deepEqual(counts("2026-01-01T00:04:09.999Z"), [0, 60, 0]);
    assert.deepEqual(counts("2026-01-01T00:04:10.000Z"), [0, 60, 0, 30]);
});

test("rates are by second, and several kinds are summed", () => {
    assert.deepEqual(ratesOf(linesOf(stats), 60, ENDED), [0, 1, 0, 0.5]);
    assert.deepEqual(ratesOf(linesOf(stats), 60, ["fail"]), [0, 0.1, 0, 0]);
});
