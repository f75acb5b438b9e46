import assert from "node:assert/strict";
import { test } from "node:test";
import { bodyOf, newDraft, ruleText } from "./rule";

test("ord_39 a form becomes a schedule once nothing is missing", () => {
    const draft = newDraft("Europe/Berlin");
    assert.equal(bodyOf(draft, ""), undefined);
    const named = { ...draft, name: " nightly ", order: '{"scenario": "load", "params": {"n": 1}}' };
    assert.deepEqual(bodyOf(named, "why"), {
        name: "nightly",
        cron: "0 3 * * *",
        zone: "Europe/Berlin",
        catchUp: { policy: "one", within: "1h" },
        overlap: "skip",
        order: { scenario: "load", params: { n: 1 } },
        reason: "why",
    });
    const interval = bodyOf({ ...named, kind: "every", policy: "skip", zone: "" }, "");
    assert.deepEqual(interval?.catchUp, { policy: "skip" });
    assert.equal(interval?.every, "1h");
    assert.equal(interval?.cron, undefined);
    for (const order of ["[1]", "{", '{"params": {}}', "null"]) assert.equal(bodyOf({ ...named, order }, ""), undefined);
});

test("ord_39 a rule is named in a few words", () => {
    assert.equal(ruleText({ cron: "0 3 * * *" }), "0 3 * * * UTC");
    assert.equal(ruleText({ every: "15m", zone: "Europe/Berlin" }), "15m");
});
