import assert from "node:assert/strict";
import { test } from "node:test";
import { placedOrders } from "./dependency-layout";

test("an order stands behind all that it waits for", () => {
    const edges = [{ order: "c", after: "b" }, { order: "b", after: "a" }, { order: "c", after: "a" }, { order: "d", after: "a" }];
    assert.deepEqual(placedOrders(["a", "b", "c", "d"], edges), [
        { id: "a", column: 0, row: 0 },
        { id: "b", column: 1, row: 0 },
        { id: "c", column: 2, row: 0 },
        { id: "d", column: 1, row: 1 },
    ]);
});

test("a cycle comes to an end", () => {
    const placed = placedOrders(["a", "b"], [{ order: "a", after: "b" }, { order: "b", after: "a" }]);
    assert.equal(placed.length, 2);
});
