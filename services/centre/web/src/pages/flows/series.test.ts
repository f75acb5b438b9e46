import { test } from "node:test";
import assert from "node:assert/strict";
import { figuresOf, joined, pointOf, sumOf, valuesOf, withPoint, type Decision, type Point } from "./series";
import type { Schemas } from "../../api/client";

function decision(second: number, limit?: number): Decision {
    return {
        at: new Date(second * 1_000).toISOString(),
        state: "limited",
        why: "grows",
        leftOut: 0,
        limit,
        numbers: { inProgress: 3, openRequests: 0, throughput: 1.5, p50Ms: 10, errors: { timeout: 2, "system.unavailable": 1 } },
    };
}

function point(second: number): Point {
    return { at: second * 1_000, limit: 8, inProgress: 1, ready: 0, throughput: 1, p50: 10, p99: 20, errors: 0 };
}

test("figures of a decision are a point; what is missing is null", () => {
    assert.deepEqual(pointOf(decision(5)), { at: 5_000, limit: null, inProgress: 3, ready: null, throughput: 1.5, p50: 10, p99: null, errors: 3 });
});

test("a flow counts what is ready of all priorities, and a system nothing", () => {
    const system = { limit: 4, inProgress: 2, throughput: 1, shortTerm: {}, errors: {} } as unknown as Schemas["SystemView"];
    assert.equal(figuresOf(system).ready, null);
    const flow = { ...system, ready: { high: 1, normal: 2, low: 3 } } as unknown as Schemas["FlowView"];
    assert.equal(figuresOf(flow).ready, 6);
    assert.equal(sumOf(undefined), 0);
});

test("the buffer keeps order, takes a time once, and has a bound", () => {
    let points: readonly Point[] = [];
    for (const second of [1, 2, 2, 1, 3]) points = withPoint(points, point(second));
    assert.deepEqual(points.map((one) => one.at), [1_000, 2_000, 3_000]);
    for (let second = 4; second < 5_000; second += 1) points = withPoint(points, point(second));
    assert.equal(points.length, 3_600);
    assert.equal(points.at(-1)?.at, 4_999_000);
});

test("history stands before what was polled, and gaps stay empty but for the limit", () => {
    const all = joined([decision(500, 5), decision(100, 8), decision(40, 4), decision(5, 2)], [point(400), point(402)], 30_000, 30_000);
    assert.deepEqual(all.map((one) => one.at), [30_000, 40_000, 55_000, 100_000, 115_000, 400_000, 402_000]);
    assert.deepEqual(valuesOf(all, "limit"), [2, 4, 4, 8, 8, 8, 8]);
    assert.deepEqual(valuesOf(all, "inProgress"), [null, 3, null, 3, null, 1, 1]);
});

test("a span begins where it was asked, also where nothing is known", () => {
    assert.deepEqual(joined([], [], 5, 1).map((one) => [one.at, one.limit]), [[5, null]]);
    assert.deepEqual(joined([decision(1, 7)], [point(60)], 30_000, 1).map((one) => [one.at, one.limit]), [[30_000, 7], [60_000, 8]]);
    const ended = joined([decision(40), decision(1, 7)], [], 30_000, 1);
    assert.deepEqual(ended.map((one) => [one.at, one.limit]), [[30_000, 7], [39_999, 7], [40_000, null]]);
});
