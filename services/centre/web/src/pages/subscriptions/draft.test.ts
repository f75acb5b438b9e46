import assert from "node:assert/strict";
import { test } from "node:test";
import { bodyOf, conditionsOf } from "./draft";

test("a draft is a body without what was not filled in", () => {
    const draft = { name: "audit", url: " https://h/a ", scenarios: "shop-*, tariff,", labels: "region=north, tier = gold", outcomes: "" };
    assert.deepEqual(bodyOf(draft), { url: "https://h/a", scenarios: ["shop-*", "tariff"], labels: { region: "north", tier: "gold" }, outcomes: [] });
    assert.deepEqual(bodyOf({ ...draft, labels: "region" }).labels, { region: "" }, "the engine says what it is missing");
});

test("conditions stand one after the other", () => {
    assert.equal(conditionsOf({ scenarios: ["shop-*"], labels: { region: "north" }, outcomes: ["fail"] }), "shop-*, region=north, fail");
    assert.equal(conditionsOf({ scenarios: [], labels: {}, outcomes: [] }), "");
});
