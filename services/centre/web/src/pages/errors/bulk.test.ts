import { test } from "node:test";
import assert from "node:assert/strict";
import { actionsFor, operationOf, searchOf, USUALLY } from "./bulk";

const SINCE = "2026-01-01T00:00:00Z";

test("the search names the state of the error and the present state as the API does", () => {
    assert.deepEqual(searchOf({ class: "c", scenario: "s", state: "pay", step: "failed", system: "h:1" }, "fail", SINCE), {
        status: "fail",
        class: "c",
        scenario: "s",
        errorState: "pay",
        state: "failed",
        system: "h:1",
        finishedSince: SINCE,
    });
});

test("orders in retry have not ended, so that no time is asked of their end", () => {
    assert.deepEqual(searchOf({ class: "c" }, "retry", SINCE), { status: "retry", class: "c" });
});

test("a restart is of orders that are still failed, and begins carefully", () => {
    assert.deepEqual(operationOf({ class: "a,b", scenario: "s" }, SINCE, USUALLY, "it is back"), {
        action: "restart",
        reason: "it is back",
        search: { status: ["fail"], class: ["a,b"], scenario: "s", finishedSince: SINCE },
        with: { ifStatus: "fail" },
        ramp: { start: 1, factor: 3, stopIf: { failedShare: 0.2 } },
    });
});

test("what a person types is sent: a rate, the initial state, no ramp", () => {
    const made = operationOf({}, SINCE, { ...USUALLY, pace: "all", from: "initial", rate: "2,5" }, "r");
    assert.equal(made.rate, 2.5);
    assert.equal(made.ramp, undefined);
    assert.deepEqual(made.with, { ifStatus: "fail", from: "initial" });
    const ramp = operationOf({}, SINCE, { ...USUALLY, start: "5", factor: "2", stopPercent: "" }, "r").ramp;
    assert.deepEqual(ramp, { start: 5, factor: 2 });
});

test("a kill is of orders in retry", () => {
    const made = operationOf({}, SINCE, { ...USUALLY, action: "kill", pace: "all", from: "initial" }, "r");
    assert.deepEqual([made.search, made.with], [{ status: ["retry"] }, { ifStatus: "retry" }]);
    assert.deepEqual([actionsFor("fail"), actionsFor("retry")], [["restart", "cancel"], ["kill"]]);
});
