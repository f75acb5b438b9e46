import assert from "node:assert/strict";
import { test } from "node:test";
import type { Span, Story } from "./spans";
import { layoutOf } from "./time-line-layout";

const span = (lane: Span["lane"], from: number, until: number): Span => ({ lane, kind: "x", from, until, life: 1, detail: "", failed: false });
const story = (spans: Span[]): Story => ({ from: 0, until: Math.max(...spans.map((one) => one.until)), spans, marks: [{ at: 0, kind: "registered", source: "client" }] });

test("bars stand in their lanes, within the picture, none thinner than can be seen", () => {
    const { bars, height, cuts } = layoutOf(story([span("stage", 0, 10), span("call", 2, 2), span("pause", 10, 100_000), span("stage", 100_000, 100_010)]), 800);
    for (const bar of bars) {
        assert.ok(bar.x >= 84 && bar.x + bar.width <= 800, `${bar.x} + ${bar.width}`);
        assert.ok(bar.width >= 3 && bar.y + bar.height < height);
    }
    assert.deepEqual(cuts.map((cut) => cut.ms), [99_990]);
});

test("labels of times do not touch each other", () => {
    const spans = Array.from({ length: 60 }, (_, index) => span("stage", index * 100, index * 100 + 40));
    const { ticks } = layoutOf(story(spans), 700);
    assert.ok(ticks.length > 2);
    for (const [index, tick] of ticks.entries()) assert.ok(index === 0 || tick.x - (ticks[index - 1]?.x ?? 0) >= 90);
});

test("calls side by side make their lane higher, and a narrow picture has no names", () => {
    const one = layoutOf(story([span("call", 0, 10)]), 300);
    const two = layoutOf(story([span("call", 0, 10), span("call", 5, 12)]), 300);
    assert.ok(two.height > one.height);
    assert.equal(one.left, 0);
});
