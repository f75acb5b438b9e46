import assert from "node:assert/strict";
import { test } from "node:test";
import { sortedJson } from "./sorted-json";

test("fields of JSON are compared by name, wherever they stand", () => {
    assert.equal(sortedJson({ b: 1, a: [{ d: 1, c: null }] }), sortedJson({ a: [{ c: null, d: 1 }], b: 1 }));
    assert.deepEqual([sortedJson(null), sortedJson(undefined)], ["", ""]);
});
