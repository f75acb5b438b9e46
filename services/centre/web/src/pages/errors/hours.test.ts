import { test } from "node:test";
import assert from "node:assert/strict";
import { bucketsOf, drawn, height } from "./hours";

const at = (text: string) => Date.parse(`2026-01-${text}:00.000Z`);
const hour = (text: string, failed: number, retrying = 0) => ({ from: `2026-01-${text}:00.000Z`, failed, retrying });

test("a day has a bar for each hour, the present one too", () => {
    const { bars, length, most } = bucketsOf([hour("02T09:00", 4), hour("02T10:00", 1, 2)], at("01T10:30"), at("02T10:30"));
    assert.equal(bars.length, 25);
    assert.equal(length, 3_600_000);
    assert.equal(most, 4);
    assert.deepEqual(bars.at(-1), { from: at("02T10:00"), failed: 1, retrying: 2 });
    assert.deepEqual(bars[0], { from: at("01T10:00"), failed: 0, retrying: 0 });
});

test("a month is put together, and nothing is lost", () => {
    const hours = [hour("01T00:00", 1), hour("15T12:00", 2), hour("31T23:00", 3)];
    const { bars } = bucketsOf(hours, at("01T00:00"), at("31T23:30"));
    assert.ok(bars.length <= 48);
    assert.equal(bars.reduce((sum, bar) => sum + bar.failed, 0), 6);
});

test("what is older than the time that is looked back over stands at its begin", () => {
    const { bars } = bucketsOf([hour("01T00:00", 0, 7)], at("02T00:00"), at("02T03:00"));
    assert.deepEqual(bars.map((bar) => bar.retrying), [7, 0, 0, 0]);
});

test("a bar of little is seen, and one of nothing is not", () => {
    assert.equal(height(0, 10, 20), 0);
    assert.equal(height(1, 1_000, 20), 1);
    assert.equal(height(10, 10, 20), 20);
});

test("what is in retry stands upon what failed, and few bars stand at the right", () => {
    const buckets = { bars: [{ from: 0, failed: 2, retrying: 2 }, { from: 1, failed: 0, retrying: 0 }], length: 3_600_000, most: 4 };
    assert.deepEqual(drawn(buckets, 21), { width: 96, failed: "M88 21v-10h3v10z", retrying: "M88 11v-10h3v10z" });
    const many = { bars: Array.from({ length: 30 }, (_, from) => ({ from, failed: 1, retrying: 0 })), length: 1, most: 1 };
    assert.equal(drawn(many, 21).width, 120);
    assert.equal(drawn(many, 21).failed.split("z").length, 31);
});
