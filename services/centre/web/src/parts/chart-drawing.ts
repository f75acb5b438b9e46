// Drawing of charts by uPlot: axes, lines and marks in the colours of the theme.

import uPlot from "uplot";
import { common } from "../text/common";
import type { Mark, Series } from "./chart";

interface Drawn {
    readonly times: readonly number[];
    readonly series: readonly Series[];
    readonly height?: number;
    readonly marks?: readonly Mark[];
    readonly format?: (value: number) => string;
    readonly sync?: string;
}

/** Seconds that a chart spans at least, also with a single point. */
const SHORTEST = 60;

/** Distance in pixels at which the pointer is near a mark. */
const NEAR = 12;

function colour(name: string): string {
    return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
}

/** Draws a chart into an element; `of` gives what is to be shown whenever it is drawn again. */
export function draw(element: HTMLElement, of: () => Drawn, zone: string): uPlot {
    const { times, series, height, format, sync } = of();
    const note = document.createElement("p");
    note.className = "chart-note";
    element.append(note);
    const axis = {
        stroke: () => colour("text-faint"),
        grid: { stroke: () => colour("line"), width: 1 },
        ticks: { show: false },
        font: "11px system-ui, sans-serif",
    };
    return new uPlot(
        {
            width: Math.max(element.clientWidth, 100),
            height: height ?? 180,
            tzDate: (seconds) => uPlot.tzDate(new Date(seconds * 1000), zone),
            cursor: { points: { size: 6 }, drag: { x: false, y: false }, ...(sync ? { sync: { key: sync } } : {}) },
            legend: { live: true },
            scales: { x: { range: (_, low, high) => [Math.min(low, high - SHORTEST), high] }, y: { range: (_, low, high) => [Math.min(0, low), high > 0 ? high * 1.1 : 1] } },
            axes: [
                { ...axis, size: 36, values: [[3600, "{HH}:{mm}", "\n{YYYY}-{MM}-{DD}", null, null, null, null, null, 1], [60, "{HH}:{mm}", null, null, null, null, null, null, 1], [1, "{HH}:{mm}:{ss}", null, null, null, null, null, null, 1]] },
                { ...axis, size: 56, ...(format ? { values: (_: uPlot, splits: number[]) => splits.map(format) } : {}) },
            ],
            series: [{ label: common("time"), value: "{YYYY}-{MM}-{DD} {HH}:{mm}:{ss}" }, ...series.map((one) => lineOf(one, format))],
            hooks: {
                draw: [(chart) => drawMarks(chart, of().marks ?? [])],
                setCursor: [(chart) => (note.textContent = textNear(chart, of().marks ?? []))],
                destroy: [() => note.remove()],
            },
        },
        [times as number[], ...series.map((one) => one.values as (number | null)[])],
        element,
    );
}

const steppedPaths = uPlot.paths.stepped?.({ align: 1 }) as uPlot.Series.PathBuilder;

/** Values without a neighbour, which no line would show. */
function loneOf(values: ArrayLike<number | null | undefined>): number[] {
    const isThere = (index: number) => values[index] !== null && values[index] !== undefined;
    return Array.from(values, (_, index) => index).filter((index) => isThere(index) && !isThere(index - 1) && !isThere(index + 1));
}

/** Text of the mark nearest to the pointer; empty where none is near, and in charts that only follow another. */
function textNear(chart: uPlot, marks: readonly Mark[]): string {
    const left = chart.cursor.left ?? -1;
    if (left < 0 || !chart.over.matches(":hover")) return "";
    const distances = marks.map((mark) => ({ mark, distance: Math.abs(chart.valToPos(mark.at, "x") - left) }));
    const near = distances.filter(({ distance }) => distance <= NEAR).sort((one, other) => one.distance - other.distance);
    return near[0]?.mark.text ?? "";
}

function lineOf(series: Series, format: ((value: number) => string) | undefined): uPlot.Series {
    return {
        label: series.name,
        stroke: () => colour(series.colour),
        width: 1.75,
        points: { show: false, size: 4, fill: () => colour(series.colour), filter: (chart, index) => loneOf(chart.data[index] ?? []) },
        ...(series.stepped ? { paths: steppedPaths } : {}),
        ...(series.filled ? { fill: () => `${colour(series.colour)}26` } : {}),
        ...(series.dashed ? { dash: [5, 4] } : {}),
        ...(format ? { value: (_: uPlot, value: number | null) => (value === null ? "–" : format(value)) } : {}),
    };
}

function drawMarks(chart: uPlot, marks: readonly Mark[]): void {
    const { ctx, bbox } = chart;
    ctx.save();
    for (const mark of marks) {
        const x = chart.valToPos(mark.at, "x", true);
        if (x < bbox.left || x > bbox.left + bbox.width) continue;
        ctx.strokeStyle = ctx.fillStyle = colour(mark.colour ?? "warn");
        ctx.lineWidth = devicePixelRatio;
        ctx.beginPath();
        ctx.moveTo(x, bbox.top);
        ctx.lineTo(x, bbox.top + bbox.height);
        ctx.stroke();
        ctx.beginPath();
        ctx.arc(x, bbox.top + 4 * devicePixelRatio, 3 * devicePixelRatio, 0, 2 * Math.PI);
        ctx.fill();
    }
    ctx.restore();
}
