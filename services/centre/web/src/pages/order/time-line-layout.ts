// Places of the bars, cuts and labels of a time line, in pixels.

import { placeOf, rowsOf, stretchesOf, type Stretch } from "./scale";
import type { Lane, Span, Story } from "./spans";

export interface Bar {
    readonly span: Span;
    readonly x: number;
    readonly y: number;
    readonly width: number;
    readonly height: number;
}

export interface Layout {
    readonly left: number;
    readonly height: number;
    readonly bars: readonly Bar[];
    readonly cuts: readonly { readonly x: number; readonly width: number; readonly ms: number }[];
    readonly ticks: readonly { readonly x: number; readonly at: number }[];
    readonly marks: readonly { readonly x: number; readonly index: number }[];
    readonly lanes: readonly { readonly lane: Lane; readonly y: number; readonly height: number }[];
    /** Top of the lanes, and the line of the axis below them. */
    readonly top: number;
    readonly axis: number;
}

const TOP = 24;
const GAP = 6;
const HEIGHTS: Record<Lane, number> = { pause: 22, stage: 22, call: 14 };
const LANES: readonly Lane[] = ["pause", "stage", "call"];
const CALL_ROWS = 4;
/** A bar is never thinner, so that a call of a millisecond is seen. */
const THINNEST = 3;
const LABEL = 96;

/** Width of the names at the left; a narrow picture has none. */
const gutter = (width: number) => (width >= 560 ? 84 : 0);

export function layoutOf(story: Story, width: number): Layout {
    const left = gutter(width);
    const room = Math.max(1, width - left - THINNEST);
    const busy = story.spans.filter((span) => span.lane !== "pause");
    const stretches = stretchesOf(busy, story.from, story.until);
    const xOf = (at: number) => left + placeOf(stretches, at) * room;
    const calls = story.spans.filter((span) => span.lane === "call");
    const rows = rowsOf(calls, CALL_ROWS);
    const rowOf = new Map(calls.map((span, index) => [span, rows[index] ?? 0]));
    const lanes = lanesOf(Math.max(0, ...rows) + 1);
    const yOf = (span: Span) => (lanes.find((one) => one.lane === span.lane)?.y ?? 0) + (rowOf.get(span) ?? 0) * HEIGHTS.call;
    const bars = story.spans.map((span) => {
        const x = xOf(span.from);
        return { span, x, y: yOf(span), width: Math.max(THINNEST, xOf(span.until) - x), height: HEIGHTS[span.lane] };
    });
    const last = lanes.at(-1);
    const axis = (last ? last.y + last.height : TOP) + GAP;
    const cuts = stretches.filter((one) => one.cut).map((one) => ({ x: left + one.begin * room, width: (one.end - one.begin) * room, ms: one.until - one.from }));
    const marks = story.marks.map((mark, index) => ({ x: xOf(mark.at), index }));
    return { left, height: axis + 20, bars, cuts, ticks: ticksOf(stretches, left, room), marks, lanes, top: TOP, axis };
}

function lanesOf(callRows: number): Layout["lanes"] {
    let y = TOP;
    return LANES.map((lane) => {
        const height = lane === "call" ? HEIGHTS.call * callRows : HEIGHTS[lane];
        const placed = { lane, y, height };
        y += height + GAP;
        return placed;
    });
}

/** Times at the beginnings of stretches and at the end, as many as have room for their labels. */
function ticksOf(stretches: readonly Stretch[], left: number, room: number): Layout["ticks"] {
    const ticks: { x: number; at: number }[] = [];
    for (const one of stretches) {
        const x = left + one.begin * room;
        const before = ticks.at(-1);
        if ((!before || x - before.x >= LABEL) && x <= left + room - LABEL) ticks.push({ x, at: one.from });
    }
    return ticks;
}
