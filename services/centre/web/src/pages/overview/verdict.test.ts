import { test } from "node:test";
import assert from "node:assert/strict";
import { pageOfCheck, verdictOf } from "./verdict";

test("nothing but fresh data has a verdict", () => {
    assert.equal(verdictOf("fresh", { verdict: "ok" }), "ok");
    assert.equal(verdictOf("fresh", { verdict: "error" }), "error");
    assert.equal(verdictOf("old", { verdict: "ok" }), "unknown");
    assert.equal(verdictOf("old", { verdict: "error" }), "unknown");
    assert.equal(verdictOf("failed", undefined), "unknown");
    assert.equal(verdictOf("waiting", undefined), "wait");
});

test("a finding leads to the page of its check", () => {
    assert.equal(pageOfCheck("refused"), "/refused");
    assert.equal(pageOfCheck("nodes.versions"), "/deployment");
    assert.equal(pageOfCheck("database.locks"), undefined);
});
