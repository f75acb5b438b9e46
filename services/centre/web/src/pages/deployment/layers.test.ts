import { test } from "node:test";
import assert from "node:assert/strict";
import { differingVersions, gaps, isSilent, layerOf, othersInService, sorted, type Node } from "./layers";

const node = (role: string, name: string, more: Partial<Node> = {}): Node => ({
    role,
    name,
    status: "active",
    statusSince: "2026-01-01T00:00:00Z",
    startedAt: "2026-01-01T00:00:00Z",
    endedAt: null,
    seenAt: "2026-01-01T00:00:10Z",
    address: "",
    version: "0.1.0",
    incarnation: 1,
    concurrency: 0,
    stages: 0,
    left: 0,
    ...more,
});

test("nodes stand in the layer of their role, in the order of an order's way", () => {
    const { layers, ended } = sorted([
        node("notifier", "n"),
        node("worker", "w-10"),
        node("worker", "w-9"),
        node("intake", "i"),
        node("scribe", "s"),
        node("activator", "a"),
        node("dispatcher", "d"),
    ]);
    const names = (layer: Parameters<typeof layers.get>[0]) => layers.get(layer)?.map((one) => one.name);
    assert.deepEqual(names("reception"), ["i"]);
    assert.deepEqual(names("distribution"), ["d", "a"]);
    assert.deepEqual(names("execution"), ["w-9", "w-10", "n"]);
    assert.deepEqual(names("other"), ["s"]);
    assert.equal(ended.length, 0);
    assert.equal(layerOf("worker"), "execution");
});

test("what has ended or is lost stands apart, the last first", () => {
    const { layers, ended } = sorted([
        node("worker", "first", { status: "stopped", endedAt: "2026-01-01T00:01:00Z" }),
        node("worker", "lost", { status: "lost", statusSince: "2026-01-01T00:03:00Z" }),
        node("worker", "alive"),
    ]);
    assert.deepEqual(ended.map((one) => one.name), ["lost", "first"]);
    assert.equal(layers.get("execution")?.length, 1);
});

test("a role without an active node is a gap, also if its nodes are offline or stand by", () => {
    const nodes = [node("intake", "i"), node("dispatcher", "d", { status: "standby" }), node("activator", "a"), node("worker", "w", { status: "offline" })];
    assert.deepEqual(gaps(nodes), ["dispatcher", "worker", "notifier"]);
});

test("versions differ only among those that live", () => {
    const nodes = [node("worker", "a"), node("worker", "b", { version: "0.2.0", status: "stopped", endedAt: "2026-01-01T00:01:00Z" })];
    assert.deepEqual(differingVersions(nodes), []);
    assert.deepEqual(differingVersions([...nodes, node("worker", "c", { version: "0.2.0" })]), ["0.1.0", "0.2.0"]);
});

test("others in service are of the same role, live, and are not offline", () => {
    const offline = { by: null, reason: "disk", since: "2026-01-01T00:00:00Z" };
    const nodes = [node("worker", "a"), node("worker", "b"), node("worker", "c", { offline }), node("notifier", "d")];
    assert.equal(othersInService(nodes, { role: "worker", name: "a" }), 1);
});

test("a node is silent after five seconds without a sign", () => {
    assert.equal(isSilent({ seenAt: "2026-01-01T00:00:10Z" }, Date.parse("2026-01-01T00:00:14Z")), false);
    assert.equal(isSilent({ seenAt: "2026-01-01T00:00:10Z" }, Date.parse("2026-01-01T00:00:16Z")), true);
    assert.equal(isSilent({ seenAt: null }, 0), true);
});
