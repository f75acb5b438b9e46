import assert from "node:assert/strict";
import { test } from "node:test";
import { commandOf, conditionsOf, partsOf, subjectPage } from "./entry";

test("a subject leads to its page, with its name escaped", () => {
    assert.equal(subjectPage("order", "a/b 1"), "/orders/a%2Fb%201");
    assert.equal(subjectPage("token", "c758dc"), undefined);
    assert.equal(subjectPage("order", ""), undefined);
});

test("before and after are taken out of the details, also where one of them is null", () => {
    const parts = partsOf({ before: null, after: { version: 1 }, version: 1 });
    assert.deepEqual(parts, { changed: true, before: null, after: { version: 1 }, result: { version: 1 } });
    assert.deepEqual(partsOf({}), { changed: false, before: undefined, after: undefined, result: undefined });
    assert.deepEqual(partsOf("text").result, { detail: "text" });
});

test("conditions become words of the command, and none where it lacks one", () => {
    const conditions = conditionsOf(new URLSearchParams("kind=flow&since=1d&else=1"));
    assert.deepEqual(commandOf(conditions), ["audit", "--kind", "flow", "--since", "1d"]);
    assert.deepEqual(commandOf(conditions, ["export"]), ["audit", "export", "--kind", "flow", "--since", "1d"]);
    assert.equal(commandOf({ ...conditions, door: "http" }), undefined);
});
