import { test } from "node:test";
import assert from "node:assert/strict";
import { countOf, failedShare, lagOf, restingOf, statusOfGroup, sumOf } from "./now";

test("what is not counted is zero, and a sum with an estimate is an estimate", () => {
    assert.deepEqual(countOf([{ name: "running", count: 3 }], "retry"), { count: 0 });
    assert.deepEqual(sumOf([{ count: 3 }, { count: 4_000, estimated: true }]), { count: 4_003, estimated: true });
    assert.equal(sumOf([]).count, 0);
});

test("resting orders are those that neither run, nor may run, nor retry", () => {
    const waiting = ["sleep_youngest", "sleep_oldest", "wait", "postponed", "dependent", "retry", "worker", "running"].map((name) => ({ name, count: 1 }));
    assert.equal(restingOf({ waiting }).count, 5);
});

test("the lag is that of the group that is woken latest", () => {
    assert.equal(lagOf({ activation: [] }), 0);
    assert.equal(lagOf({ activation: [{ group: "wait", currentProcessingLagMs: 20 }, { group: "retry", currentProcessingLagMs: 900 }] }), 900);
    assert.equal(statusOfGroup("sleep_middle"), "sleep");
    assert.equal(statusOfGroup("polling"), "polling");
});

test("a share of nothing is unknown", () => {
    assert.equal(failedShare({ success: 0, fail: 0, interrupted: 0, canceled: 0 }), undefined);
    assert.equal(failedShare({ success: 3, fail: 1, interrupted: 0, canceled: 0 }), 0.25);
});
