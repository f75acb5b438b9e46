import assert from "node:assert/strict";
import { test } from "node:test";
import { lineDiff, partsOf } from "./line-diff";

const marks = { same: " ", gone: "-", new: "+" };
const shown = (before: string, after: string) => lineDiff(before, after).map((line) => marks[line.kind] + line.text);

test("a changed line is gone and new, with the numbers of both texts", () => {
    assert.deepEqual(shown("a\nb\nc", "a\nx\nc"), [" a", "-b", "+x", " c"]);
    assert.deepEqual(
        lineDiff("a\nb\nc", "a\nc\nd").map((line) => [line.before, line.after]),
        [[1, 1], [2, undefined], [3, 2], [undefined, 3]],
    );
});

test("equal texts have no changes, and nothing in common is all changes", () => {
    assert.deepEqual(shown("a\nb", "a\nb"), [" a", " b"]);
    assert.deepEqual(shown("a", "b"), ["-a", "+b"]);
    assert.deepEqual(shown("", "a\nb\n"), ["+a", "+b"]);
    assert.deepEqual(partsOf(lineDiff("a\nb", "a\nb")), [{ left: 2 }]);
});

test("either text comes back out of the lines, and the way is the shortest", () => {
    let seed = 7;
    const dice = (sides: number) => (seed = (seed * 1_103_515_245 + 12_345) % 2_147_483_648) % sides;
    for (let round = 0; round < 300; round += 1) {
        const text = () => Array.from({ length: 1 + dice(12) }, () => "abc"[dice(3)]).join("\n");
        const [before, after] = [text(), text()];
        const lines = lineDiff(before, after);
        const of = (other: string) => lines.filter((line) => line.kind !== other).map((line) => line.text).join("\n");
        assert.equal(of("new"), before);
        assert.equal(of("gone"), after);
        assert.equal(lines.filter((line) => line.kind === "same").length, longest(before.split("\n"), after.split("\n")));
    }
});

/** Length of the longest common part, by the plain table. */
function longest(one: string[], other: string[]): number {
    let row = [0, ...other.map(() => 0)];
    for (const line of one) {
        const next = [0];
        for (const [at, match] of other.entries()) {
            next.push(line === match ? (row[at] ?? 0) + 1 : Math.max(row[at + 1] ?? 0, next[at] ?? 0));
        }
        row = next;
    }
    return row.at(-1) ?? 0;
}

test("what is far from a change is left out", () => {
    const lines = Array.from({ length: 20 }, (_, index) => String(index));
    const changed = lines.with(10, "x");
    const parts = partsOf(lineDiff(lines.join("\n"), changed.join("\n")), 2);
    assert.deepEqual(parts.map((part) => ("left" in part ? part.left : part.lines.length)), [8, 6, 7]);
});
