// Places of the lines and labels of a chart over time, in pixels. No DOM.

import { DAY, dayText, offsetOf, timeOf, wallAt } from "../app/zoned";

export type Values = readonly (number | null)[];

/** Seconds that a chart spans at least, also with a single point. */
const SHORTEST = 60;
/** Room beside the lines: names of values at the left, times below. */
const LEFT = 56;
const RIGHT = 12;
const TOP = 8;
const BOTTOM = 36;
/** Pixels between two labels at least. */
const ROOM_OF_TIME = 64;
const ROOM_OF_VALUE = 30;

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
/** Distances of labels of time. */
const DISTANCES = [1, 2, 5, 10, 15, 30]
    .map((n) => n * SECOND)
    .concat([1, 2, 5, 10, 15, 30].map((n) => n * MINUTE))
    .concat([1, 2, 3, 4, 6, 12].map((n) => n * HOUR))
    .concat([1, 2, 7, 14, 28].map((n) => n * DAY));

export interface Label {
    /** Pixels from the left, or from the top. */
    readonly at: number;
    readonly text: string;
    /** The day, where it is another than that of the label before. */
    readonly day?: string;
}

/** The frame in which lines are drawn. Times are seconds since 1970. */
export interface Frame {
    readonly left: number;
    readonly right: number;
    readonly top: number;
    readonly bottom: number;
    readonly height: number;
    readonly xOf: (time: number) => number;
    readonly yOf: (value: number) => number;
    readonly timeOf: (x: number) => number;
}

/** Values are drawn from 0, or from the lowest below it, to a little more than the highest. */
export function frameOf(times: readonly number[], series: readonly Values[], width: number, height: number): Frame {
    const end = times.at(-1) ?? 0;
    const start = Math.min(times[0] ?? 0, end - SHORTEST);
    let [low, high] = [0, 0];
    for (const values of series) {
        for (const value of values) {
            if (value !== null) [low, high] = [Math.min(low, value), Math.max(high, value)];
        }
    }
    const top = high > 0 ? high * 1.1 : 1;
    const [left, right, bottom] = [LEFT, Math.max(width - RIGHT, LEFT + 1), height - BOTTOM];
    const [across, up] = [(right - left) / (end - start), (bottom - TOP) / (top - low)];
    return {
        left,
        right,
        top: TOP,
        bottom,
        height,
        xOf: (time) => left + (time - start) * across,
        yOf: (value) => bottom - (value - low) * up,
        timeOf: (x) => start + (x - left) / across,
    };
}

/** Labels of values at round steps, far enough from each other that no two read the same. */
export function valueLabels({ yOf, top, bottom }: Frame, format: (value: number) => string): Label[] {
    const ofPixel = 1 / (yOf(0) - yOf(1));
    const [low, high] = [(yOf(0) - bottom) * ofPixel, (yOf(0) - top) * ofPixel];
    for (let step = roundUp(ROOM_OF_VALUE * ofPixel); ; step = roundUp(step * 1.5)) {
        const labels: Label[] = [];
        for (let n = Math.ceil(low / step - 1e-9); n * step <= high; n++) labels.push({ at: yOf(n * step), text: format(n * step + 0) });
        if (new Set(labels.map(({ text }) => text)).size === labels.length) return labels;
    }
}

/** The next number of 1, 2 or 5 times a power of ten. */
function roundUp(value: number): number {
    const power = 10 ** Math.floor(Math.log10(value));
    return ([1, 2, 5].find((n) => n * power >= value) ?? 10) * power;
}

/** Labels of time at full hours, minutes or seconds of the wall clock of a zone. */
export function timeLabels({ timeOf: at, left, right, xOf }: Frame, zone: string): Label[] {
    const [start, end] = [at(left) * SECOND, at(right) * SECOND];
    const least = ((end - start) / (right - left)) * ROOM_OF_TIME;
    const distance = DISTANCES.find((one) => one >= least) ?? Math.ceil(least / (28 * DAY)) * 28 * DAY;
    const labels: Label[] = [];
    let [day, last] = ["", -Infinity];
    for (let wall = Math.ceil((start + offsetOf(zone, start)) / distance) * distance; ; wall += distance) {
        const time = timeOf(zone, wall);
        if (time > end) return labels;
        // A reading that the clocks skip stands for the time of the next one.
        if (time <= last) continue;
        last = time;
        const shown = wallAt(zone, time);
        const date = dayText(Math.floor(shown / DAY));
        const text = new Date(shown).toISOString().slice(11, distance < MINUTE ? 19 : 16);
        labels.push({ at: xOf(time / SECOND), text, day: distance >= HOUR && date !== day ? date : undefined });
        day = date;
    }
}

/** Stretches of values without a gap, as indices. */
function stretchesOf(values: Values): number[][] {
    const stretches: number[][] = [];
    let last: number[] | undefined;
    values.forEach((value, index) => {
        if (value === null) last = undefined;
        else if (last) last.push(index);
        else stretches.push((last = [index]));
    });
    return stretches;
}

export interface Line {
    /** The line as the path of an SVG picture, and what is between it and 0. */
    readonly path: string;
    readonly area: string;
    /** Values without a neighbour, which no line would show. */
    readonly lone: readonly { readonly x: number; readonly y: number }[];
}

/** The line of values, with gaps where there are none; `stepped`: a value holds until the next one. */
export function lineOf(frame: Frame, times: readonly number[], values: Values, stepped = false): Line {
    const stretches = stretchesOf(values).map((indices) =>
        indices.map((index) => ({ x: round(frame.xOf(times[index] ?? 0)), y: round(frame.yOf(values[index] ?? 0)) })),
    );
    const ground = round(frame.yOf(0));
    const lines = stretches.filter((points) => points.length > 1);
    const pathOf = (points: { x: number; y: number }[]) =>
        points.map(({ x, y }, index) => (index === 0 ? `M${x},${y}` : stepped ? `H${x}V${y}` : `L${x},${y}`)).join("");
    return {
        path: lines.map(pathOf).join(""),
        area: lines.map((points) => `${pathOf(points)}V${ground}H${points[0]?.x ?? 0}Z`).join(""),
        lone: stretches.filter((points) => points.length === 1).flat(),
    };
}

function round(pixels: number): number {
    return Math.round(pixels * 10) / 10;
}

/** The point whose time is nearest; nothing where there are none. */
export function nearest(times: readonly number[], time: number): number | undefined {
    let best: number | undefined;
    times.forEach((one, index) => {
        if (best === undefined || Math.abs(one - time) < Math.abs((times[best] ?? 0) - time)) best = index;
    });
    return best;
}
