import { test } from "node:test";
import assert from "node:assert/strict";
import { commandOf, conditionsOf, into, nextField, selectionOf, setConditions } from "./selection";

const of = (query: string) => selectionOf(new URLSearchParams(query));

test("the address is the selection, and words that mean nothing are left out", () => {
    assert.deepEqual(of(""), { by: "class", since: "24h", conditions: {}, status: "fail" });
    assert.deepEqual(of("by=weather&since=&status=odd&class="), of(""));
    assert.deepEqual(of("by=state&since=2h&class=http.5xx&system=a:1&status=retry"), {
        by: "state",
        since: "2h",
        conditions: { class: "http.5xx", system: "a:1" },
        status: "retry",
    });
});

test("conditions come in the order of the fields", () => {
    assert.deepEqual(setConditions({ system: "s", class: "c" }), [["class", "c"], ["system", "s"]]);
});

test("a group without a class is selected by a word, and one without a system cannot be", () => {
    assert.deepEqual(conditionsOf("class", { key: null }), { class: "unclassified" });
    assert.equal(conditionsOf("system", { key: null }), undefined);
});

test("a state is selected with its scenario", () => {
    assert.deepEqual(conditionsOf("state", { key: "pay", scenario: "sale" }), { state: "pay", scenario: "sale" });
});

test("the way into a group goes on to the next field that is open", () => {
    assert.equal(nextField("class", { class: "c" }), "scenario");
    assert.equal(nextField("class", { class: "c", scenario: "s" }), "state");
    assert.equal(nextField("system", { system: "s" }), "class");
    assert.equal(nextField("state", { class: "c", scenario: "s", state: "t", system: "u" }), "state");
    assert.deepEqual(into(of("by=scenario&cursor=9"), { key: "sale" }, "fail"), { scenario: "sale", by: "state", status: undefined, cursor: undefined });
    assert.equal(into(of("by=system"), { key: null }, "fail"), undefined);
});

test("the command asks for the same", () => {
    assert.deepEqual(commandOf(of("")), ["errors"]);
    assert.deepEqual(commandOf(of("by=state&class=c&since=1h")), ["errors", "--by", "state", "--class", "c", "--since", "1h"]);
});
