import assert from "node:assert/strict";
import { test } from "node:test";
import { localOf, timeOf } from "./local";

test("times go into the form and come back, also over a change of clocks", () => {
    for (const time of ["2026-03-29T00:30:00Z", "2026-03-29T01:30:00Z", "2026-10-24T23:30:00Z", "2026-07-01T00:00:00Z"]) {
        assert.equal(timeOf(localOf(time, true), true), time);
        assert.equal(timeOf(localOf(time, false), false), time);
    }
    assert.equal(timeOf("soon", true), "soon");
});
