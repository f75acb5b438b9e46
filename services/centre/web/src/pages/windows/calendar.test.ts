import { test } from "node:test";
import assert from "node:assert/strict";
import { dayOfText, dayText } from "../../app/zoned";
import { clockChange, crossesChange, layout, moved, partsOf, weekNumber, weeksOf } from "./calendar";
import { disagreeing, lengthOf, names, occurrences, starts, type Rule, type Window } from "./occurrences";

const BERLIN = "Europe/Berlin";
const HOUR = 3_600_000;
const at = (text: string) => Date.parse(text);
const day = (text: string) => dayOfText(text) ?? NaN;

function windowOf(calendar: Rule, more: Partial<Window> = {}): Window {
    return { window: 1, by: {}, calendar, madeAt: "2026-01-01T00:00:00Z", reason: "works", shift: false, flow: "tariff", ...more };
}

const nightly: Rule = { every: "day", at: "02:30", zone: BERLIN, for: "3h" };

test("a month begins on the Monday before it", () => {
    assert.deepEqual(weeksOf("month", day("2026-11-26")).map(dayText), ["2026-10-26", "2026-11-02", "2026-11-09", "2026-11-16", "2026-11-23", "2026-11-30"]);
    assert.deepEqual(weeksOf("week", day("2026-11-26")).map(dayText), ["2026-11-23"]);
    assert.equal(weeksOf("month", day("2027-02-10")).length, 4);
});

test("the day on which the clocks change is as long as it is", () => {
    const [week] = layout("week", day("2026-03-29"), BERLIN);
    const sunday = week?.[6];
    assert.equal(sunday && dayText(sunday.day), "2026-03-29");
    assert.equal(sunday && (sunday.until - sunday.from) / HOUR, 23);
    assert.deepEqual(sunday?.change, { at: at("2026-03-29T01:00:00Z"), before: HOUR, after: 2 * HOUR });
    assert.equal(week?.[5]?.change, undefined);
    const autumn = layout("week", day("2026-10-25"), BERLIN)[0]?.[6];
    assert.equal(autumn && (autumn.until - autumn.from) / HOUR, 25);
    assert.equal(autumn?.change?.at, at("2026-10-25T01:00:00Z"));
});

test("parts of a day are shares of its own length", () => {
    const sunday = layout("week", day("2026-10-25"), BERLIN)[0]?.[6];
    assert.ok(sunday);
    const all = occurrences([windowOf({ from: "2026-10-24T21:00:00Z", for: "6h" })], sunday.from, sunday.until, 0);
    const [part] = partsOf(sunday, all);
    assert.equal(part?.begun, true);
    assert.equal(part?.goesOn, false);
    assert.equal(part?.start, 0);
    assert.equal(part?.end, 5 / 25);
    assert.equal(all[0] && crossesChange(BERLIN, all[0]), true);
    assert.equal(crossesChange(BERLIN, { from: at("2026-11-01T00:00:00Z"), until: at("2026-11-02T00:00:00Z") }), false);
});

test("an occurrence that the clocks skip begins as much later, and lasts as long", () => {
    const found = occurrences([windowOf(nightly)], at("2026-03-28T12:00:00Z"), at("2026-03-30T12:00:00Z"), 0);
    assert.deepEqual(
        found.map((one) => new Date(one.from).toISOString()),
        ["2026-03-29T01:30:00.000Z", "2026-03-30T00:30:00.000Z"],
    );
    assert.ok(found.every((one) => one.until - one.from === 3 * HOUR));
});

test("of a time that the clocks show twice the first counts", () => {
    assert.deepEqual(starts(nightly, at("2026-10-24T12:00:00Z"), at("2026-10-26T12:00:00Z")), [at("2026-10-25T00:30:00Z"), at("2026-10-26T01:30:00Z")]);
});

test("days of a week and of a month are named as the engine reads them", () => {
    const monthly = (on: string[]): Rule => ({ every: "month", on, at: "02:30", zone: BERLIN, for: "1h" });
    const found = (rule: Rule) => starts(rule, at("2026-11-27T00:00:00Z"), at("2027-02-01T00:00:00Z")).map((one) => new Date(one).toISOString().slice(0, 10));
    assert.deepEqual(found(monthly(["second sunday", "last", "31"])), ["2026-11-30", "2026-12-13", "2026-12-31", "2027-01-10", "2027-01-31"]);
    assert.deepEqual(found(monthly(["last friday"])), ["2026-11-27", "2026-12-25", "2027-01-29"]);
    assert.equal(names({ every: "week", on: ["saturday", "Sunday"], for: "1h" }, day("2026-11-29")), true);
    assert.equal(names({ every: "week", on: ["saturday"], for: "1h" }, day("2026-11-27")), false);
});

test("a calendar begins and ends where it says", () => {
    const rule: Rule = { ...nightly, from: "2026-11-02T00:00:00Z", until: "2026-11-04T00:00:00Z" };
    assert.equal(starts(rule, at("2026-10-01T00:00:00Z"), at("2026-12-01T00:00:00Z")).length, 2);
    assert.deepEqual(starts({ from: "2026-11-02T00:00:00Z", for: "1h" }, at("2026-12-01T00:00:00Z"), at("2026-12-02T00:00:00Z")), []);
});

test("what was called off, removed or not yet made is not shown as if it held", () => {
    const span = [at("2026-11-01T00:00:00Z"), at("2026-11-05T00:00:00Z")] as const;
    const now = at("2026-11-02T12:00:00Z");
    const skipped = occurrences([windowOf(nightly, { voidUntil: "2026-11-03T01:30:00Z" })], ...span, now);
    assert.deepEqual(skipped.map((one) => one.off), [false, false, true, false]);
    const removed = occurrences([windowOf(nightly, { removedAt: "2026-11-02T02:00:00Z" })], ...span, now);
    assert.deepEqual(removed.map((one) => one.until), [at("2026-11-01T04:30:00Z"), at("2026-11-02T02:00:00Z")]);
    const late = occurrences([windowOf(nightly, { madeAt: "2026-11-03T12:00:00Z" })], ...span, now);
    assert.equal(late.length, 1);
});

test("an occurrence that began before the span reaches into it", () => {
    const long = windowOf({ from: "2026-11-01T00:00:00Z", for: "10d" });
    assert.equal(occurrences([long], at("2026-11-05T00:00:00Z"), at("2026-11-06T00:00:00Z"), 0).length, 1);
    assert.equal(occurrences([long], at("2026-11-11T00:00:00Z"), at("2026-11-12T00:00:00Z"), 0).length, 0);
});

test("a next time that the engine sees elsewhere is found", () => {
    const next = (from: string) => windowOf(nightly, { next: { from, until: from } });
    assert.equal(disagreeing([next("2026-11-03T01:30:00Z")]).length, 0);
    assert.equal(disagreeing([next("2026-11-03T02:30:00Z")]).length, 1);
    assert.equal(disagreeing([windowOf(nightly)]).length, 0);
});

test("durations are read as the engine writes them", () => {
    assert.equal(lengthOf("1h30m"), 90 * 60_000);
    assert.equal(lengthOf("500ms"), 500);
    assert.equal(lengthOf("2d"), 48 * HOUR);
    assert.equal(lengthOf("3"), undefined);
    assert.equal(lengthOf("soon"), undefined);
});

test("views are moved, and weeks numbered", () => {
    assert.equal(dayText(moved("month", day("2026-12-31"), 1)), "2027-01-01");
    assert.equal(dayText(moved("week", day("2026-12-31"), -1)), "2026-12-24");
    assert.equal(weekNumber(day("2026-11-26")), 48);
    assert.equal(weekNumber(day("2027-01-01")), 53);
    assert.equal(clockChange("UTC", 0, 86_400_000), undefined);
});
