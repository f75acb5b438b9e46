import assert from "node:assert/strict";
import { test } from "node:test";
import { parsedText } from "./json-text";

test("an empty text is no value, and no fault", () => {
    assert.deepEqual(parsedText("  \n", true), {});
});

test("any JSON will do, unless an object is wanted", () => {
    assert.deepEqual(parsedText("[1]", false), { value: [1] });
    assert.deepEqual(parsedText("[1]", true), { error: "object" });
    assert.deepEqual(parsedText("null", true), { error: "object" });
    assert.deepEqual(parsedText('{"a": 1}', true), { value: { a: 1 } });
});

test("what is no JSON says why", () => {
    assert.match(parsedText("{a", false).error ?? "", /JSON/);
});
