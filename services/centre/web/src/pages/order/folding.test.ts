import assert from "node:assert/strict";
import { test } from "node:test";
import { keyOf, linesOf, operationTotals, type Step } from "./folding";

/** Steps of operations, as `path action handOut`. */
function steps(...texts: string[]): Step[] {
    return texts.map((text, at) => {
        const [operation, action = "0", handOut = "1"] = text.split(" ");
        const place = { number: at + 1, life: 1, state: "a", action: Number(action), handOut: Number(handOut) };
        return { ...place, operation: operation || null, at: `t${at}`, durationMs: 10, bytes: at, outcome: "answered" } as unknown as Step;
    });
}

const shown = (all: Step[], ...open: string[]) => linesOf(all, new Set(open)).map((line) => `${line.depth} ${line.kind === "step" ? line.step.number : `${line.name}:${line.steps.length}`}`);

test("scn_19 an operation is one line until it is opened, and so is one inside it", () => {
    const all = steps(" 0", "charge 2", "charge/audit 4", "charge 6", " 8");
    assert.deepEqual(shown(all), ["0 1", "0 charge:3", "0 5"]);
    assert.deepEqual(shown(all, "0 2"), ["0 1", "0 charge:3", "1 2", "1 audit:1", "1 4", "0 5"]);
    assert.deepEqual(shown(all, "0 2", "1 3"), ["0 1", "0 charge:3", "1 2", "1 audit:1", "2 3", "1 4", "0 5"]);
    assert.equal(new Set(linesOf(all, new Set(["0 2", "1 3"])).map(keyOf)).size, 7);
});

test("scn_19 repeats of one run stay together, and another run is another line", () => {
    // A repeat from a savepoint comes with the next hand-out; a step back in the same one is a new visit.
    assert.deepEqual(shown(steps("charge 2", "charge 4", "charge 2 2", "charge 4 2", "charge 2 2")), ["0 charge:4", "0 charge:1"]);
    assert.deepEqual(shown(steps("charge 2", "refund 2", "charge 4")), ["0 charge:1", "0 refund:1", "0 charge:1"]);
    const [first, second] = steps("charge 2", "charge 4") as [Step, Step];
    assert.deepEqual(shown([first, { ...second, life: 2 }]), ["0 charge:1", "0 charge:1"]);
    assert.deepEqual(shown([first, { ...second, state: "b" }]), ["0 charge:1", "0 charge:1"]);
});

test("a folded operation has the sums of its steps, and ends as the last of them", () => {
    const [first, second] = steps("charge 2", "charge 4") as [Step, Step];
    const { at, durationMs, bytes, outcome } = operationTotals([first, { ...second, outcome: "failed" }]);
    assert.deepEqual([at, durationMs, bytes, outcome], ["t0", 20, 1, "failed"]);
});
