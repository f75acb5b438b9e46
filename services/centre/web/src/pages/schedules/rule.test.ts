import assert from "node:assert/strict";
import { test } from "node:test";
import { bodyOf, draftOf, newDraft, ruleText, type Schedule } from "./rule";

test("ord_39 a form becomes a schedule once nothing is missing", () => {
    const draft = newDraft("Europe/Berlin");
    assert.equal(bodyOf(draft, "", true), undefined);
    const named = { ...draft, name: " nightly ", order: '{"scenario": "load", "params": {"n": 1}}' };
    assert.deepEqual(bodyOf(named, "why", true), {
        name: "nightly",
        cron: "0 3 * * *",
        zone: "Europe/Berlin",
        catchUp: { policy: "one", within: "1h" },
        overlap: "skip",
        order: { scenario: "load", params: { n: 1 } },
        reason: "why",
    });
    const interval = bodyOf({ ...named, kind: "every", policy: "skip", zone: "" }, "", true);
    assert.deepEqual(interval?.catchUp, { policy: "skip" });
    assert.equal(interval?.every, "1h");
    assert.equal(interval?.cron, undefined);
    for (const order of ["[1]", "{", '{"params": {}}', "null"]) assert.equal(bodyOf({ ...named, order }, "", true), undefined);
});

test("ord_39 a rule is named in a few words", () => {
    assert.equal(ruleText({ cron: "0 3 * * *" }), "0 3 * * * UTC");
    assert.equal(ruleText({ every: "15m", zone: "Europe/Berlin" }), "15m");
});

test("ord_39 a schedule comes out of its form as it went in", () => {
    const body = {
        name: "nightly",
        every: "15m",
        zone: "Europe/Berlin",
        from: "2026-12-01T03:00:30Z",
        until: "2027-01-01T00:00:00Z",
        exceptions: ["2026-12-31", "12-24", { from: "2026-12-05T00:00:00+01:00", until: "2026-12-06T00:00:00+01:00" }],
        catchUp: { policy: "all", within: "2h" },
        overlap: "queue",
        order: { scenario: "load", params: { card: "***" } },
        note: "by night",
    };
    const schedule = { ...body, tag: "t" } as unknown as Schedule;
    for (const isUtc of [true, false]) assert.deepEqual(bodyOf(draftOf(schedule, isUtc), "", isUtc), body);
    const plain = draftOf({ ...schedule, cron: "0 3 * * *", every: null, zone: null, from: null, until: null, exceptions: [], catchUp: { policy: "one" }, note: "" }, true);
    assert.deepEqual(bodyOf(plain, "", true), { name: "nightly", cron: "0 3 * * *", catchUp: { policy: "one" }, overlap: "queue", order: body.order });
});
