import assert from "node:assert/strict";
import { test } from "node:test";
import { jsonLines, lineDiff } from "./changes";

const SIGNS = { same: " ", removed: "-", added: "+" };

function shown(before: string, after: string): string {
    return lineDiff(before.split(""), after.split(""))
        .map((line) => SIGNS[line.kind] + line.text)
        .join("");
}

test("what is common stays, and the rest is removed or added", () => {
    assert.equal(shown("abc", "abc"), " a b c");
    assert.equal(shown("abc", "axc"), " a-b+x c");
    assert.equal(shown("", "ab"), "+a+b");
    assert.equal(shown("ab", ""), "-a-b");
    assert.equal(shown("abcdef", "acxef"), " a-b c-d+x e f");
    assert.equal(shown("aa", "a"), " a-a");
});

test("both texts can be put together of the lines", () => {
    const texts = ["", "a", "ab", "ba", "abab", "bbaa", "cabbage", "garbage"];
    for (const before of texts) {
        for (const after of texts) {
            const lines = lineDiff(before.split(""), after.split(""));
            const without = (kind: string) => lines.filter((line) => line.kind !== kind).map((line) => line.text).join("");
            assert.deepEqual([without("added"), without("removed")], [before, after]);
        }
    }
});

test("texts that are too long to compare are exchanged, but for their ends", () => {
    const long = (prefix: string) => ["same", ...Array.from({ length: 1_500 }, (_, index) => prefix + index), "end"];
    const lines = lineDiff(long("a"), long("b"));
    assert.equal(lines.length, 3_002);
    assert.deepEqual([lines[0]?.kind, lines.at(-1)?.kind], ["same", "same"]);
});

test("fields of JSON are compared by name, wherever they stand", () => {
    assert.deepEqual(jsonLines({ b: 1, a: [{ d: 1, c: null }] }), jsonLines({ a: [{ c: null, d: 1 }], b: 1 }));
    assert.deepEqual(jsonLines(null), []);
});
