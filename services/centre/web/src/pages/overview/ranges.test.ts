import { test } from "node:test";
import assert from "node:assert/strict";
import { isShort, RANGES, STEPS } from "./ranges";

test("every range has a step of whole minutes, and no more of them than a chart shows", () => {
    const minutes = (text: string) => Number.parseInt(text, 10) * ({ m: 1, h: 60, d: 1_440 }[text.at(-1) ?? ""] ?? Number.NaN);
    for (const range of RANGES) {
        const steps = minutes(range) / minutes(STEPS[range]);
        assert.ok(steps >= 10 && steps <= 100, `${range} has ${steps} steps`);
    }
});

test("an answer is short if it begins more than a step after what was asked", () => {
    const at = "2026-01-01T12:00:30.000Z";
    assert.equal(isShort("1h", { at, since: "2026-01-01T11:00:00.000Z", stepSeconds: 60 }), false);
    assert.equal(isShort("1h", { at, since: "2026-01-01T11:01:00.000Z", stepSeconds: 60 }), false);
    assert.equal(isShort("1h", { at, since: "2026-01-01T11:20:00.000Z", stepSeconds: 60 }), true);
});
