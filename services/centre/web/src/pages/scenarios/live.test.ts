import assert from "node:assert/strict";
import { test } from "node:test";
import { grouped } from "./live";

test("counts are put together by their first key, statuses in the order of a life", () => {
    const item = (state: string, status: string, orders: number) => ({ key: [state, status], orders });
    const counts = { by: ["state", "status"], orders: 9, complete: true, items: [item("a", "retry", 1), item("b", "wait", 5), item("a", "new", 2), item("", "new", 1)] };
    assert.deepEqual(grouped(counts), [
        { key: "b", orders: 5, statuses: [{ status: "wait", orders: 5 }] },
        { key: "a", orders: 3, statuses: [{ status: "new", orders: 2 }, { status: "retry", orders: 1 }] },
        { key: "", orders: 1, statuses: [{ status: "new", orders: 1 }] },
    ]);
});
