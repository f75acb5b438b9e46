import assert from "node:assert/strict";
import { test } from "node:test";
import { added, migration, migrationPreview, type Migrated } from "./migrating";

const part = (moved: number, left: [string, number][]): Migrated => ({
    scenario: "a",
    from: 1,
    to: 2,
    applied: false,
    moved,
    left: left.reduce((sum, [, orders]) => sum + orders, 0),
    reasons: left.map(([reason, orders]) => ({ reason, orders, examples: ["x"] })),
    next: null,
});

test("parts add up, and reasons stand together", () => {
    const sum = added(added(undefined, part(2, [["at work", 1]])), part(3, [["at work", 4], ["gone", 1]]));
    assert.equal(sum.moved, 5);
    assert.equal(sum.left, 6);
    assert.deepEqual(sum.reasons.map(({ reason, orders }) => [reason, orders]), [["at work", 5], ["gone", 1]]);
});

test("only an applied migration says so, with its reason", () => {
    assert.deepEqual(migration({ name: "a b", from: 1, to: 2, apply: false })().body, { from: 1, to: 2 });
    const applied = migration({ name: "a b", from: 1, to: 2, apply: true, reason: "r" })("n");
    assert.deepEqual(applied.body, { from: 1, to: 2, apply: true, reason: "r", after: "n" });
    assert.equal(applied.url, "/v1/scenarios/a%20b/migrate");
});

test("a text that is not applied is sent as it is, with each part", () => {
    const first = migrationPreview(3, "scenario: a")();
    assert.deepEqual([first.url, first.body, first.mediaType], ["/v1/scenarios/migration?from=3", "scenario: a", "application/yaml"]);
    assert.equal(migrationPreview(3, "scenario: a")("7").url, "/v1/scenarios/migration?from=3&after=7");
});
