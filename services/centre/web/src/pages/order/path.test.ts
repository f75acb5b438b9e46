import assert from "node:assert/strict";
import { test } from "node:test";
import { marksOf, visited } from "./path";

const move = (life: number, from: string, event: string, to: string) => ({ life, from, event, to });
const order = {
    status: "wait",
    step: "asking",
    life: 2,
    error: null,
    transitions: [
        move(1, "ask", "fail", "failed"),
        move(2, "ask", "wait", "asking"),
        move(2, "asking", "timeout", "ask"),
        move(2, "ask", "wait", "asking"),
    ],
};

test("marks are those of the present life", () => {
    const { states, visits, taken } = marksOf(order);
    assert.deepEqual([...states], [["ask", "passed"], ["asking", "present"]]);
    assert.deepEqual([...visits], [["ask", "×2"], ["asking", "×2"]]);
    assert.deepEqual([...taken], ["ask wait asking", "asking timeout ask"]);
});

test("a state of failure is marked as such", () => {
    const failed = { ...order, status: "fail", step: "failed", life: 1 };
    assert.equal(marksOf(failed).states.get("failed"), "present failed");
});

test("a repair that jumps counts its state as visited", () => {
    const jumped = { ...order, life: 1, transitions: [move(1, "a", "success", "b"), move(1, "c", "success", "d")] };
    assert.equal(marksOf(jumped).states.get("c"), "passed");
});

test("visited states come in their order, each once", () => {
    assert.deepEqual(visited(order), ["ask", "failed", "asking"]);
});
