import assert from "node:assert/strict";
import { test } from "node:test";
import { merged, placeOf, rowsOf, stretchesOf } from "./scale";

test("overlapping intervals are one", () => {
    assert.deepEqual(merged([{ from: 5, until: 9 }, { from: 0, until: 6 }, { from: 20, until: 21 }]), [{ from: 0, until: 9 }, { from: 20, until: 21 }]);
});

test("a long idle stretch is cut, and the line ends at 1", () => {
    const day = 86_400_000;
    const stretches = stretchesOf([{ from: 0, until: 100 }, { from: day, until: day + 100 }], 0, day + 100);
    assert.deepEqual(stretches.map((one) => one.cut), [false, true, false]);
    assert.ok(Math.abs((stretches.at(-1)?.end ?? 0) - 1) < 1e-9);
    assert.ok((stretches[0]?.end ?? 0) > 0.15, "a stage is seen beside a day");
});

test("a short idle stretch stays to scale, and so does an order that only waits", () => {
    assert.ok(stretchesOf([{ from: 0, until: 100 }, { from: 150, until: 200 }], 0, 200).every((one) => !one.cut));
    const waiting = stretchesOf([], 0, 86_400_000);
    assert.deepEqual(waiting.map(({ begin, end, cut }) => [begin, end, cut]), [[0, 1, false]]);
});

test("places grow with time, also through a cut", () => {
    const stretches = stretchesOf([{ from: 0, until: 10 }, { from: 10_000, until: 10_010 }], 0, 10_010);
    const places = [0, 5, 10, 5_000, 10_000, 10_010].map((at) => placeOf(stretches, at));
    assert.deepEqual([...places].sort((a, b) => a - b), places);
    assert.equal(places[0], 0);
    assert.ok(Math.abs((places.at(-1) ?? 0) - 1) < 1e-9);
    assert.equal(placeOf([], 5), 0);
});

test("calls side by side stand in rows of their own", () => {
    assert.deepEqual(rowsOf([{ from: 0, until: 5 }, { from: 1, until: 9 }, { from: 2, until: 3 }, { from: 6, until: 7 }], 2), [0, 1, 1, 0]);
});
