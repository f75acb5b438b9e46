import assert from "node:assert/strict";
import { test } from "node:test";
import { amended, amendedPage } from "./amended";

const order = { id: "o", status: "wait", step: "answer", updatedAt: "2026-11-29T10:00:00.000500Z" };
const event = { order: "o", at: "2026-11-29T10:00:01Z", status: "fail", step: "answer" };

test("ui_2 an event gives an order its status and state", () => {
    assert.deepEqual(amended(order, event), { ...order, status: "fail" });
    assert.deepEqual(amended(order, { order: "o", at: event.at, status: "new" }), { ...order, status: "new", step: null });
});

test("ui_2 an event that is older than the order, or says nothing new, changes nothing", () => {
    assert.equal(amended(order, { ...event, at: "2026-11-29T09:59:59Z" }), order);
    assert.equal(amended(order, { ...event, status: "wait" }), order);
});

test("ui_2 an event gives the order of a page its status, and the others nothing", () => {
    const page = { items: [{ ...order, id: "a" }, order, { ...order, id: "z" }], next: "n" };
    const shown = amendedPage(page, event);
    assert.deepEqual(shown, { items: [page.items[0], { ...order, status: "fail" }, page.items[2]], next: "n" });
    assert.equal(amendedPage(shown, event), shown);
    assert.equal(amendedPage(page, { ...event, order: "elsewhere" }), page);
});
