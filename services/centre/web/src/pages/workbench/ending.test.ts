import assert from "node:assert/strict";
import { test } from "node:test";
import { asking, endingOf } from "./ending";
import { emptyTrial } from "./trial";

test("the ending is read out of the faults", () => {
    const fault = (message: string) => ({ message });
    const tried = { test: "x", passed: false, duration: "0s", notes: [], story: [] };
    const faults = [fault('vars: expected `"⁇ what is it"`, but it is `{"a":"`b`"}`'), fault('result: expected `"⁇ what is it"`, but it is `null`')];
    assert.deepEqual(endingOf({ ...tried, faults }), { vars: { a: "`b`" }, result: null });
    assert.deepEqual(endingOf({ ...tried, faults: [fault("vars/a: other")] }), {});
    assert.deepEqual(endingOf(undefined), {});
    assert.equal(asking(emptyTrial("x")).name, "x");
});
