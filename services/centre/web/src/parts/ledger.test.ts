import assert from "node:assert/strict";
import { test } from "node:test";
import { partsOf, roundedTo, toneOf } from "./ledger";

test("rounded shares sum to the whole", () => {
    assert.deepEqual(roundedTo(1_000, [1 / 3, 1 / 3, 1 / 3]), [334, 333, 333]);
    assert.deepEqual(roundedTo(1_000, []), []);
    for (const shares of [[0.5, 0.5], [0.9996, 0.0002, 0.0002], [0.1, 0.2, 0.3, 0.4]]) {
        assert.equal(roundedTo(1_000, shares).reduce((sum, one) => sum + one, 0), 1_000);
    }
});

test("parts stand side by side, the largest first, without empty ones", () => {
    const parts = partsOf([
        { reason: "running", ms: 250, share: 0.25 },
        { reason: "callback", ms: 750, share: 0.75 },
        { reason: "sleep", ms: 0, share: 0 },
    ]);
    assert.deepEqual(parts.map(({ reason, tenths, begin, width }) => [reason, tenths, begin, width]), [["callback", 750, 0, 750], ["running", 250, 750, 250]]);
});

test("an order without any time has no parts", () => {
    assert.deepEqual(partsOf([]), []);
});

test("a reason that is not known has a colour too", () => {
    assert.equal(toneOf("work"), "busy");
    assert.equal(toneOf("toString"), "plain");
});
