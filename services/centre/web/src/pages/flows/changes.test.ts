import assert from "node:assert/strict";
import test from "node:test";
import { changesOf } from "./changes";

test("changes are read from an address, and what is no number or mode is left out", () => {
    const read = (text: string) => changesOf(new URLSearchParams(text));
    assert.deepEqual(read(""), {});
    assert.deepEqual(read("mode=simple&maxLimit=8&weight=2&load=1.5&callTime=0.5&capacity=2&range=1h"), {
        mode: "simple",
        maxLimit: 8,
        weight: 2,
        load: 1.5,
        callTime: 0.5,
        capacity: 2,
    });
    assert.deepEqual(read("mode=best&maxLimit=1.5&load=-1&callTime=x&capacity="), { maxLimit: 1.5, load: -1 });
});
