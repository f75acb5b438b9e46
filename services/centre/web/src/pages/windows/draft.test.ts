import { test } from "node:test";
import assert from "node:assert/strict";
import { bodyOf, commandOf, isMoved, newDraft } from "./draft";
import { partText, spanText } from "./words";

const BERLIN = "Europe/Berlin";
const at = (text: string) => Date.parse(text);

test("a window that is once begins at the wall time of the page's zone", () => {
    const draft = { ...newDraft("flow", "tariff", BERLIN), from: "2026-07-01T22:00", shift: true };
    assert.deepEqual(bodyOf(draft, BERLIN, "works", true), { flow: "tariff", for: "3h", reason: "works", dryRun: true, shift: true, from: "2026-07-01T20:00:00.000Z" });
});

test("a calendar names its days in the order of the week, and a system has no shift", () => {
    const draft = { ...newDraft("system", "billing", BERLIN), every: "week", weekdays: ["sunday", "saturday"], at: "22:00", shift: true } as const;
    assert.deepEqual(bodyOf(draft, "UTC", "w", false), { system: "billing", for: "3h", reason: "w", dryRun: false, every: "week", on: ["saturday", "sunday"], at: "22:00", zone: BERLIN });
});

test("days of a month are read between commas", () => {
    const body = bodyOf({ ...newDraft("flow", "t", "UTC"), every: "month", monthDays: "1, Last ,second sunday,", until: "2027-01-01T00:00" }, BERLIN, "w", true);
    assert.deepEqual(body?.on, ["1", "last", "second sunday"]);
    assert.equal(body?.until, "2026-12-31T23:00:00.000Z");
});

test("what is incomplete makes no request", () => {
    const draft = newDraft("flow", "t", "UTC");
    assert.equal(bodyOf({ ...draft, target: "" }, "UTC", "w", true), undefined);
    assert.equal(bodyOf({ ...draft, length: "soon" }, "UTC", "w", true), undefined);
    assert.equal(bodyOf({ ...draft, every: "week" }, "UTC", "w", true), undefined);
    assert.equal(bodyOf({ ...draft, every: "day", at: "" }, "UTC", "w", true), undefined);
});

test("the command line asks for the same", () => {
    const body = bodyOf({ ...newDraft("flow", "tariff", BERLIN), every: "week", weekdays: ["saturday"], shift: true }, BERLIN, "works", false);
    assert.deepEqual(body && commandOf(body), [
        "windows", "add", "--flow", "tariff", "--every", "week", "--on", "saturday", "--at", "02:00", "--zone", BERLIN, "--for", "3h", "--shift", "--reason", "works",
    ]);
    const once = bodyOf(newDraft("system", "crm", BERLIN), BERLIN, "works", false);
    assert.deepEqual(once && commandOf(once).slice(4, 6), ["--from", "now"]);
});

test("a start that the clocks skip is seen", () => {
    const rule = { every: "day", at: "02:30", zone: BERLIN } as const;
    assert.equal(isMoved(rule, at("2026-03-29T01:30:00Z")), true);
    assert.equal(isMoved(rule, at("2026-03-30T00:30:00Z")), false);
    assert.equal(isMoved({}, 0), false);
});

test("both offsets are written where the clocks change between start and end", () => {
    assert.equal(spanText(BERLIN, at("2026-10-24T22:00:00Z"), at("2026-10-25T03:00:00Z")), "2026-10-25 00:00 UTC+02:00 – 04:00 UTC+01:00");
    assert.equal(spanText(BERLIN, at("2026-11-26T21:00:00Z"), at("2026-11-27T00:00:00Z")), "2026-11-26 22:00 – 2026-11-27 01:00 UTC+01:00");
});

test("a part of a day says where it reaches beyond it", () => {
    const part = (from: string, until: string, begun = false, goesOn = false) => partText(BERLIN, { occurrence: { from: at(from), until: at(until) }, begun, goesOn });
    assert.equal(part("2026-11-26T08:00:00Z", "2026-11-26T09:30:00Z"), "09:00–10:30");
    assert.equal(part("2026-11-26T08:00:00Z", "2026-11-28T09:30:00Z", true, true), "…–…");
    assert.equal(part("2026-11-26T08:00:00Z", "2026-11-27T09:30:00Z", false, true), "09:00–…");
    assert.equal(part("2026-03-29T00:30:00Z", "2026-03-29T01:30:00Z"), "01:30 UTC+01:00 – 03:30 UTC+02:00");
    assert.equal(part("2026-03-28T22:30:00Z", "2026-03-29T01:30:00Z", true), "… – 03:30 UTC+02:00");
});
