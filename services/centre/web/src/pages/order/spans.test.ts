import assert from "node:assert/strict";
import { test } from "node:test";
import { storyOf, type Event } from "./spans";

const at = (ms: number) => new Date(ms).toISOString();
let number = 0;
const event = (kind: string, ms: number, payload: unknown = {}, source = "worker-1"): Event => ({ number: (number += 1), life: 1, kind, at: at(ms), source, payload });
const step = (ms: number, length: number, more = {}) => ({ at: at(ms), ms: length, kind: "http", target: "POST a/b", outcome: "answered", status: 200, ...more });
const order = (status: string, more = {}) => ({ status, asking: null, node: null, updatedAt: at(0), finishedAt: null, life: 1, ...more });
const brief = (story: ReturnType<typeof storyOf>) => story.spans.map((span) => `${span.lane} ${span.kind} ${span.from}-${span.until}${span.failed ? " failed" : ""}`);

const RETRIED = [
    event("registered", 0, {}, "client"),
    event("stage_started", 10, { wake: "start" }),
    event("stage_ended", 20, { startedAt: at(10), wake: "start", status: "retry", steps: [step(12, 3, { outcome: "failed", status: 503, class: "system.unavailable" })] }),
];

test("stages, their calls and what lies between are spans", () => {
    const events = [...RETRIED, event("stage_ended", 2_030, { startedAt: at(2_020), wake: "retry", status: "success", steps: [step(2_021, 5)] })];
    const story = storyOf(events, order("success"), true, 9_000);
    assert.deepEqual(brief(story), [
        "pause start 0-10",
        "call http 12-15 failed",
        "stage start 10-20",
        "pause retry 20-2020",
        "call http 2021-2026",
        "stage retry 2020-2030",
    ]);
    assert.equal(story.spans[1]?.outcome, "503 system.unavailable");
    assert.deepEqual([story.from, story.until], [0, 2_030]);
});

test("what has not ended goes on to the present, and only at the end of the history", () => {
    assert.ok(brief(storyOf(RETRIED, order("retry"), true, 500)).includes("pause retry 20-500"));
    assert.ok(!brief(storyOf(RETRIED, order("retry"), false, 500)).some((one) => one.startsWith("pause retry")));
});

test("a running stage and the question that it waits for are drawn", () => {
    const asking = { state: "a", action: 0, kind: "http", name: null, target: "GET x", attempt: 1, since: at(120) };
    const story = storyOf([event("registered", 0)], order("running", { updatedAt: at(100), node: "worker-2", asking }), true, 400);
    assert.deepEqual(brief(story), ["pause start 0-100", "stage  100-400", "call http 120-400"]);
});

test("a stage that enters a state begins once", () => {
    const events = [
        event("registered", 0),
        event("entered", 50, { startedAt: at(10), wake: "start", steps: [step(11, 30)] }),
        event("stage_ended", 90, { startedAt: at(10), wake: "start", status: "wait", steps: [step(60, 20)] }),
    ];
    assert.deepEqual(brief(storyOf(events, order("wait"), true, 100)), ["pause start 0-10", "call http 11-41", "call http 60-80", "stage start 10-90", "pause wait 90-100"]);
});

test("a kill ends a wait, a restart begins one, a change leaves it", () => {
    const events = [...RETRIED, event("updated", 30, {}, "ann"), event("killed", 40, {}, "ann"), event("restarted", 1_000, {}, "ann")];
    const story = storyOf(events, order("reopen"), true, 1_500);
    assert.deepEqual(brief(story).slice(3), ["pause retry 20-40", "pause start 1000-1500"]);
    assert.deepEqual(story.marks.map((mark) => mark.kind), ["registered", "updated", "killed", "restarted"]);
});
