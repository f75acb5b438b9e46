import assert from "node:assert/strict";
import { test } from "node:test";
import { language } from "../text";
import { duration, number, offsetAt, percent, rate, shortTime, wholeTime, zone, zoneChoice } from "./time";

/** Does something while the browser stands in another zone. */
function inZone(name: string, work: () => void): void {
    const before = process.env["TZ"];
    process.env["TZ"] = name;
    // The zone is asked for again when its choice changes.
    zoneChoice.value = "utc";
    zoneChoice.value = "local";
    try {
        // Some engines keep the former names of zones.
        assert.equal(zone.value.replace("Calcutta", "Kolkata"), name);
        work();
    } finally {
        if (before === undefined) delete process.env["TZ"];
        else process.env["TZ"] = before;
    }
}

test("clocks that are put forward in Berlin leave out an hour", () => {
    inZone("Europe/Berlin", () => {
        const [before, after] = ["2026-03-29T00:59:59.999Z", "2026-03-29T01:00:00Z"];
        const today = Date.parse(after);
        assert.deepEqual([shortTime(before, today), shortTime(after, today)], ["01:59:59", "03:00:00"]);
        assert.deepEqual([offsetAt(before), offsetAt(after)], ["UTC+01:00", "UTC+02:00"]);
        assert.equal(wholeTime(before), "2026-03-29 01:59:59.999 UTC+01:00\n2026-03-29T00:59:59.999Z");
    });
});

test("clocks that are put back show an hour twice, kept apart by the offset", () => {
    inZone("Europe/Berlin", () => {
        const [first, second] = ["2026-10-25T00:30:00Z", "2026-10-25T01:30:00Z"];
        assert.equal(wholeTime(first).split("\n")[0], "2026-10-25 02:30:00.000 UTC+02:00");
        assert.equal(wholeTime(second).split("\n")[0], "2026-10-25 02:30:00.000 UTC+01:00");
    });
    inZone("America/New_York", () => {
        const [first, second] = ["2026-11-01T05:30:00Z", "2026-11-01T06:30:00Z"];
        const today = Date.parse("2026-11-01T12:00:00Z");
        assert.deepEqual([shortTime(first, today), shortTime(second, today)], ["01:30:00", "01:30:00"]);
        assert.deepEqual([offsetAt(first), offsetAt(second)], ["UTC-04:00", "UTC-05:00"]);
    });
});

test("a zone of half hours that never changes has one offset", () => {
    inZone("Asia/Kolkata", () => {
        assert.deepEqual([offsetAt("2026-03-29T01:00:00Z"), offsetAt("2026-11-01T06:30:00Z")], ["UTC+05:30", "UTC+05:30"]);
        assert.equal(wholeTime("2026-01-01T18:30:00.5Z"), "2026-01-02 00:00:00.500 UTC+05:30\n2026-01-01T18:30:00.500Z");
    });
});

test("today is the day of the zone, so the date stands only where it is another", () => {
    const [at, now] = ["2026-01-01T22:30:00Z", Date.parse("2026-01-01T23:30:00Z")];
    inZone("Europe/Berlin", () => assert.equal(shortTime(at, now), "2026-01-01 23:30:00"));
    inZone("America/New_York", () => assert.equal(shortTime(at, now), "17:30:00"));
    inZone("Asia/Kolkata", () => assert.equal(shortTime(at, now), "04:00:00"));
});

test("UTC is written as an offset like any other", () => {
    zoneChoice.value = "utc";
    // Whether an offset of nothing is written depends on the engine.
    assert.match(offsetAt(0), /^UTC([+]00:00)?$/);
    assert.equal(wholeTime(0), `1970-01-01 00:00:00.000 ${offsetAt(0)}\n1970-01-01T00:00:00.000Z`);
    zoneChoice.value = "local";
});

test("a length of time has its two largest units", () => {
    language.value = "en";
    const expected: [number, string][] = [
        [0, "0 ms"],
        [999.4, "999 ms"],
        [1_000, "1 s"],
        [1_250, "1.3 s"],
        [9_960, "10 s"],
        [10_000, "10 s"],
        [59_999, "59 s"],
        [60_000, "1 min"],
        [200_000, "3 min 20 s"],
        [3_600_000, "1 h"],
        [3_661_000, "1 h 1 min"],
        [90_000_000, "1 d 1 h"],
        [86_400_000 * 400, "400 d"],
        [-200_000, "3 min 20 s"],
    ];
    for (const [ms, text] of expected) assert.equal(duration(ms), text, `${ms} ms`);
});

test("numbers are written as the language writes them", () => {
    language.value = "ru";
    assert.equal(number(1_234_567.891, 1), "1\u00a0234\u00a0567,9");
    language.value = "en";
    assert.deepEqual([rate(1_234.5), rate(12.34), rate(0.123_4)], ["1,235", "12.3", "0.123"]);
    assert.deepEqual([percent(0.5), percent(0.012_3), percent(1)], ["50%", "1.2%", "100%"]);
});
