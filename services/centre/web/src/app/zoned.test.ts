import { test } from "node:test";
import assert from "node:assert/strict";
import { dayAt, dayOfText, dayText, firstOfMonth, offsetOf, offsetText, startOf, timeOf, wallAt, wallOfText, wallText, weekdayOf } from "./zoned";

const BERLIN = "Europe/Berlin";
const at = (text: string) => Date.parse(text);
const wall = (text: string) => wallOfText(text) ?? NaN;

test("a wall time stands for a time", () => {
    assert.equal(timeOf(BERLIN, wall("2026-11-26T22:00")), at("2026-11-26T21:00:00Z"));
    assert.equal(timeOf(BERLIN, wall("2026-07-01T22:00")), at("2026-07-01T20:00:00Z"));
    assert.equal(timeOf("America/St_Johns", wall("2026-01-01T00:00")), at("2026-01-01T03:30:00Z"));
    assert.equal(timeOf("UTC", wall("2026-01-01T00:00")), at("2026-01-01T00:00:00Z"));
});

test("a reading that the clocks skip is as much later", () => {
    assert.equal(timeOf(BERLIN, wall("2026-03-29T02:30")), at("2026-03-29T01:30:00Z"));
    assert.equal(wallText(wallAt(BERLIN, at("2026-03-29T01:30:00Z"))), "2026-03-29T03:30");
});

test("of a reading that the clocks show twice the first counts", () => {
    assert.equal(timeOf(BERLIN, wall("2026-10-25T02:30")), at("2026-10-25T00:30:00Z"));
    assert.equal(timeOf(BERLIN, wall("2026-10-25T03:00")), at("2026-10-25T02:00:00Z"));
});

test("a day may have 23 or 25 hours", () => {
    const hours = (text: string) => {
        const day = dayOfText(text) ?? 0;
        return (startOf(BERLIN, day + 1) - startOf(BERLIN, day)) / 3_600_000;
    };
    assert.equal(hours("2026-03-29"), 23);
    assert.equal(hours("2026-10-25"), 25);
    assert.equal(hours("2026-11-26"), 24);
});

test("days are those of the zone", () => {
    assert.equal(dayText(dayAt(BERLIN, at("2026-11-25T23:30:00Z"))), "2026-11-26");
    assert.equal(dayText(dayAt("UTC", at("2026-11-25T23:30:00Z"))), "2026-11-25");
    assert.equal(weekdayOf(dayOfText("2026-11-26") ?? 0), 3);
    assert.equal(weekdayOf(dayOfText("1969-12-29") ?? 0), 0);
});

test("months are counted over the turn of the year", () => {
    const day = dayOfText("2026-11-26") ?? 0;
    assert.equal(dayText(firstOfMonth(day)), "2026-11-01");
    assert.equal(dayText(firstOfMonth(day, 2)), "2027-01-01");
    assert.equal(dayText(firstOfMonth(day, -11)), "2025-12-01");
});

test("texts that name no day are refused", () => {
    assert.equal(dayOfText("2026-02-30"), undefined);
    assert.equal(dayOfText("today"), undefined);
    assert.equal(dayOfText(null), undefined);
    assert.equal(wallOfText(""), undefined);
});

test("an offset is written with its sign", () => {
    assert.equal(offsetText(offsetOf(BERLIN, at("2026-07-01T00:00:00Z"))), "UTC+02:00");
    assert.equal(offsetText(offsetOf("America/St_Johns", at("2026-01-01T00:00:00Z"))), "UTC-03:30");
    assert.equal(offsetText(0), "UTC");
});
