import assert from "node:assert/strict";
import { test } from "node:test";
import { insideOf } from "./graph-operations";

test("scn_19 operations of a picture are listed once each, with their states", () => {
    const marks = [{ state: "pay", operations: "charge@3 audit" }, { state: "again", operations: "charge@3 charge@4" }, { state: "done" }];
    assert.deepEqual(insideOf(marks), [
        { key: "charge@3", name: "charge", version: 3, states: ["pay", "again"] },
        { key: "audit", name: "audit", version: undefined, states: ["pay"] },
        { key: "charge@4", name: "charge", version: 4, states: ["again"] },
    ]);
});
