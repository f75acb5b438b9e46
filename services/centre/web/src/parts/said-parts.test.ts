import assert from "node:assert/strict";
import { test } from "node:test";
import { partsOf } from "./said-parts";

const brief = (sentence: string) => partsOf(sentence).map((part) => `${part.kind}:${part.text}`);

test("times, orders and words stand apart from the text around them", () => {
    assert.deepEqual(brief("number 2 in queue `q`, held by order `A-1` since 2026-11-26T20:40:28.512Z"), [
        "text:number 2 in queue ",
        "word:q",
        "text:, held by order ",
        "order:A-1",
        "text: since ",
        "time:2026-11-26T20:40:28.512Z",
    ]);
});

test("a sentence without any is one part, and an empty one none", () => {
    assert.deepEqual(brief("it waits"), ["text:it waits"]);
    assert.deepEqual(brief(""), []);
    assert.deepEqual(brief("a `lonely tick"), ["text:a `lonely tick"]);
});
