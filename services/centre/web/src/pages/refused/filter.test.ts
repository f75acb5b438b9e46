import { test } from "node:test";
import assert from "node:assert/strict";
import { commandOf, dropOf, fieldsOf, filterOf, reasonParts } from "./filter";

const of = (query: string) => filterOf(new URLSearchParams(query));

test("the address is the filter", () => {
    assert.deepEqual(of("status=odd"), { status: "open", reasonType: "", refusedBefore: "" });
    assert.deepEqual(fieldsOf(of("status=all&reasonType=conflict")), { status: "all", reasonType: "conflict" });
});

test("a drop takes what the list shows, and nothing that came after it was looked at", () => {
    const seen = ["2026-01-01T00:00:00.500Z", "2026-01-01T00:00:00.700Z"].map((refusedAt) => ({ refusedAt }));
    assert.deepEqual(dropOf(of("reasonType=conflict"), seen, "r"), { status: "open", reasonType: "conflict", refusedBefore: "2026-01-01T00:00:01.000Z", reason: "r" });
    assert.equal(dropOf(of("refusedBefore=7d"), seen, "r").refusedBefore, "7d");
});

test("a reason begins with its type", () => {
    assert.deepEqual(reasonParts("unknown-scenario: there is no: scenario"), { type: "unknown-scenario", words: "there is no: scenario" });
    assert.deepEqual(reasonParts("Nobody knows: why"), { type: undefined, words: "Nobody knows: why" });
});

test("the command asks for the same", () => {
    assert.deepEqual(commandOf(of("")), ["refused", "list"]);
    assert.deepEqual(commandOf(of("status=answered&reasonType=conflict&refusedBefore=7d")), [
        "refused", "list", "--status", "answered", "--reason-type", "conflict", "--refused-before", "7d",
    ]);
});
