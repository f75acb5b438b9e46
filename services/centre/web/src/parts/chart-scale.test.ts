import assert from "node:assert/strict";
import { test } from "node:test";
import { frameOf, lineOf, nearest, timeLabels, valueLabels } from "./chart-scale";

const START = Date.parse("2026-03-28T22:10:00Z") / 1_000;
const every = (seconds: number, count: number) => Array.from({ length: count }, (_, index) => START + index * seconds);

test("lines start at the left, end at the right, and reach from 0 to near the top", () => {
    const times = every(60, 11);
    const frame = frameOf(times, [[0, 10]], 500, 180);
    assert.deepEqual([frame.xOf(times[0] ?? 0), frame.xOf(times[10] ?? 0)], [frame.left, frame.right]);
    assert.equal(frame.yOf(0), frame.bottom);
    assert.ok(frame.yOf(10) > frame.top && frame.yOf(10) < frame.top + 20);
    assert.equal(Math.round(frame.timeOf(frame.xOf(START + 90))), START + 90);
});

test("a chart of nothing, of one point, and of values below 0 has a frame", () => {
    for (const [times, values] of [[[], []], [[START], [5]], [every(60, 2), [-4, null]]] as [number[], (number | null)[]][]) {
        const frame = frameOf(times, [values], 320, 180);
        const places = [...timeLabels(frame, "UTC"), ...valueLabels(frame, String)].map(({ at }) => at);
        assert.ok(places.length > 0 && places.every(Number.isFinite), JSON.stringify(places));
    }
    const below = frameOf(every(60, 2), [[-4, 4]], 320, 180);
    assert.equal(below.yOf(-4), below.bottom);
});

test("labels of values stand at round steps, and none twice", () => {
    const labels = (most: number, format: (value: number) => string = String) => valueLabels(frameOf(every(60, 2), [[0, most]], 500, 180), format).map(({ text }) => text);
    assert.deepEqual(labels(10), ["0", "5", "10"]);
    assert.deepEqual(labels(0), ["0", "0.5", "1"]);
    assert.deepEqual(labels(1, (value) => new Intl.NumberFormat("en", { maximumFractionDigits: 0 }).format(value)), ["0", "1"]);
    assert.deepEqual(labels(0, (value) => new Intl.NumberFormat("en").format(value)), ["0", "0.5", "1"]);
    assert.deepEqual(labels(1_000_000).at(-1), "1000000");
});

test("labels of time stand at the wall clock of the zone, also where the clocks change", () => {
    const labels = (seconds: number, zone: string, width = 700) => timeLabels(frameOf([START, START + seconds], [[1]], width, 180), zone);
    const texts = (seconds: number, zone: string) => labels(seconds, zone).map(({ text }) => text);
    assert.deepEqual(texts(60, "UTC").slice(0, 2), ["22:10:00", "22:10:10"]);
    assert.deepEqual(texts(3_600, "Asia/Kolkata").slice(0, 2), ["03:40", "03:50"]);
    // At 02:00 the clocks of Berlin go to 03:00.
    assert.deepEqual(texts(6 * 3_600, "Europe/Berlin"), ["00:00", "01:00", "03:00", "04:00", "05:00", "06:00"]);
    assert.deepEqual(labels(86_400, "UTC").filter(({ day }) => day).map(({ text, day }) => `${day} ${text}`), ["2026-03-29 00:00"]);
    const dense = labels(7 * 86_400, "UTC", 320).map(({ at }) => at);
    assert.ok(dense.every((at, index) => index === 0 || at - (dense[index - 1] ?? 0) >= 63), JSON.stringify(dense));
});

test("a line has gaps, and shows a value that stands alone", () => {
    const times = every(60, 6);
    const frame = frameOf(times, [[10]], 500, 180);
    const line = lineOf(frame, times, [1, 2, null, 3, null, 4]);
    assert.equal(line.path.split("M").length - 1, 1);
    assert.equal(line.lone.length, 2);
    assert.ok(line.area.endsWith("Z"));
    assert.match(lineOf(frame, times, [1, 2, 3], true).path, /^M[\d.]+,[\d.]+H[\d.]+V[\d.]+H[\d.]+V[\d.]+$/);
    assert.equal(lineOf(frame, times, []).path, "");
});

test("the nearest point is found", () => {
    assert.equal(nearest([1, 5, 9], 6), 1);
    assert.equal(nearest([1, 5, 9], 100), 2);
    assert.equal(nearest([], 3), undefined);
});
