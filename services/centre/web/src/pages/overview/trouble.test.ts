import { test } from "node:test";
import assert from "node:assert/strict";
import type { Schemas } from "../../api/client";
import { flowTrouble, readyOf, slowdown, slowest, standsSince, systemTrouble, troubled } from "./trouble";

type Flow = Schemas["FlowView"];
const flow = (name: string, state: string, more: Partial<Flow> = {}) =>
    ({ flow: name, state, atLimit: false, ready: { high: 0, normal: 0, low: 0 }, shortTerm: {}, longTerm: {}, ...more }) as Flow;

test("a flow is in trouble if it does not go on, or waits for its limit", () => {
    assert.equal(flowTrouble(flow("a", "enabled")), 0);
    assert.equal(flowTrouble(flow("a", "limited")), 0);
    assert.ok(flowTrouble(flow("a", "limited", { atLimit: true })) > 0);
    assert.ok(flowTrouble(flow("a", "stopped")) > flowTrouble(flow("a", "probing")));
    assert.ok(flowTrouble(flow("a", "a state of later versions")) > 0);
});

test("a flow that an operator stopped stands since the decision about it", () => {
    const decisions = [{ at: "2026-01-01T00:00:00Z", state: "disabled_manually", why: "by hand" }] as Flow["decisions"];
    assert.equal(standsSince(flow("a", "disabled_manually", { decisions })), "2026-01-01T00:00:00Z");
    assert.equal(standsSince(flow("a", "stopped", { decisions, stoppedSince: "2026-01-02T00:00:00Z" })), "2026-01-02T00:00:00Z");
    assert.equal(standsSince(flow("a", "limited", { decisions })), undefined);
});

test("the worst comes first, then what has more waiting", () => {
    const flows = [
        flow("fine", "enabled"),
        flow("probing", "probing"),
        flow("stopped-1", "stopped", { ready: { high: 0, normal: 1, low: 0 } }),
        flow("stopped-9", "stopped", { ready: { high: 2, normal: 3, low: 4 } }),
    ];
    assert.deepEqual(
        troubled(flows, flowTrouble, readyOf).map((one) => one.flow),
        ["stopped-9", "stopped-1", "probing"],
    );
});

test("a healthy system is in no trouble, and one of a state that is unknown here is", () => {
    assert.equal(systemTrouble({ state: "healthy" } as Schemas["SystemView"]), 0);
    assert.ok(systemTrouble({ state: "unheard of" } as unknown as Schemas["SystemView"]) > 0);
});

test("the slowest flows are those with the longest stages now", () => {
    const flows = [flow("none", "enabled"), flow("a", "enabled", { shortTerm: { p99Ms: 5 } }), flow("b", "enabled", { shortTerm: { p99Ms: 50 } })];
    assert.deepEqual(slowest(flows, 5).map((one) => one.flow), ["b", "a"]);
    assert.equal(slowdown({ shortTerm: { p50Ms: 30 }, longTerm: { p50Ms: 10 } }), 3);
    assert.equal(slowdown({ shortTerm: {}, longTerm: { p50Ms: 10 } }), undefined);
});
