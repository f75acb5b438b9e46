import assert from "node:assert/strict";
import { test } from "node:test";
import { begin, follow, hashOf, microseconds, notedHead, type ChainPage } from "./chain";

const ZERO = "0".repeat(64);
const anchor = { position: 0, series: 0, transaction: 0, no: 0, hash: ZERO };

type Link = ChainPage["links"][number];

/** A link as an engine wrote it. */
const first: Link = {
    position: 1,
    series: 0,
    transaction: 767,
    no: 1,
    hash: "334657f1fcd7fc65ce901d5d446cb8b2083f78fbcc9a4ed01401e31cf5a437ce",
    entry: {
        transaction: 767,
        at: "2026-11-26T19:53:56.668856Z",
        action: "apply",
        kind: "scenario",
        subject: "callback",
        door: "http",
        origin: "127.0.0.1:60718",
        detail: '{"after":{"version":1},"before":null,"version":1}',
    },
};

function next(before: Link, no: number): Link {
    const entry = { transaction: 767 + no, at: "1969-12-31T23:59:59.5Z", action: "stop", kind: "flow", subject: "ü→", door: "http", name: "ann", reason: "", detail: "{}" };
    const place = { position: before.position + 1, series: 0, transaction: entry.transaction, no, hash: "" };
    return { ...place, hash: hashOf(place, entry, before.hash), entry };
}

const second = next(first, 2);
const third = next(second, 3);

function pageOf(links: Link[], more: Partial<ChainPage> = {}): ChainPage {
    return { anchor, forgotten: 0, links, putIn: [], head: third, unsealed: 0, ...more };
}

function verify(page: ChainPage, noted = "") {
    return follow(begin(page, notedHead(noted)), page);
}

test("the hash of an entry is the one that the engine wrote", () => {
    assert.ok(first.entry);
    assert.equal(hashOf(first, first.entry, ZERO), first.hash);
});

test("a whole chain holds, and its pages follow each other", () => {
    const whole = verify(pageOf([first, second, third]));
    assert.equal(whole.fault, undefined);
    assert.deepEqual([whole.entries, whole.head.position, whole.from], [3, 3, first.entry?.at]);
    const begun = verify(pageOf([first, second], { next: 2 }));
    assert.equal(begun.next, 2);
    assert.equal(follow(begun, pageOf([third])).entries, 3);
});

test("whatever is done to an entry is found, and named", () => {
    const changed = { ...second, entry: { ...(second.entry as NonNullable<Link["entry"]>), reason: "another" } };
    assert.equal(verify(pageOf([first, changed, third])).fault?.key, "fault_changed");
    assert.equal(verify(pageOf([first, { ...second, entry: null }, third])).fault?.key, "fault_removed");
    assert.deepEqual(verify(pageOf([first, third])).fault, { key: "fault_links_missing", values: { from: "2", until: "2" } });
    assert.equal(verify(pageOf([first, second])).fault?.key, "fault_links_missing");
    assert.equal(verify(pageOf([first, { ...second, transaction: 1 }, third])).fault?.key, "fault_moved");
    assert.deepEqual(verify(pageOf([first, second, third], { putIn: [9] })).fault, { key: "fault_put_in", values: { no: "9" } });
    assert.equal(verify(pageOf([first], { next: 7 })).fault?.key, "fault_pages");
});

test("entries that retention did not count were removed by another hand", () => {
    const page = pageOf([second, third], { anchor: first, forgotten: 0 });
    assert.deepEqual(verify(page).fault, { key: "fault_missing_before", values: { count: "1" } });
    assert.equal(verify({ ...page, forgotten: 1 }).fault, undefined);
});

test("retention that removes what is verified lets it begin again", () => {
    const begun = verify(pageOf([first], { next: 1 }));
    assert.equal(follow(begun, pageOf([third], { anchor: second, forgotten: 2 })).overtaken, true);
});

test("a noted head finds a chain that was cut off or made again", () => {
    const page = pageOf([first, second, third]);
    assert.equal(verify(page, second.hash).met, true);
    assert.equal(verify(page, `2:${second.hash}`).met, true);
    assert.equal(verify(page, `2:${ZERO.replace("0", "1")}`).fault?.key, "fault_head_changed");
    assert.equal(verify(page, `9:${second.hash}`).fault?.key, "fault_head_missing");
    assert.equal(verify(page, "a".repeat(64)).fault?.key, "fault_head_missing");
    const later = pageOf([third], { anchor: second, forgotten: 2 });
    assert.equal(verify(later, `1:${first.hash}`).fault?.key, "fault_head_forgotten");
});

test("times before 1970 and without a fraction have their microseconds", () => {
    assert.equal(microseconds("2026-11-26T19:53:56.668856Z"), 1_795_722_836_668_856n);
    assert.equal(microseconds("1969-12-31T23:59:59.5Z"), -500_000n);
    assert.equal(microseconds("1970-01-01T00:00:01Z"), 1_000_000n);
    assert.equal(microseconds("-12"), -12n);
});

test("a noted head is a hash, with its position or without", () => {
    assert.deepEqual(notedHead(` 7:${"A".repeat(64)} `), { position: 7, hash: "a".repeat(64) });
    assert.deepEqual(notedHead(ZERO), { position: undefined, hash: ZERO });
    assert.equal(notedHead("7:abc"), undefined);
});
