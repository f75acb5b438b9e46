// The scale of a time line: busy time to scale, long idle stretches cut short, so that a stage of milliseconds is seen beside
// a sleep of days.

export interface Interval {
    readonly from: number;
    readonly until: number;
}

export interface Stretch extends Interval {
    /** Place on the line, from 0 to 1. */
    readonly begin: number;
    readonly end: number;
    /** Drawn shorter than it was. */
    readonly cut: boolean;
}

/** Idle time takes this many times the room of busy time at most. */
const IDLE_ROOM = 2;

/** Intervals that overlap or touch, as one. */
export function merged(intervals: readonly Interval[]): Interval[] {
    const all: Interval[] = [];
    for (const next of [...intervals].sort((a, b) => a.from - b.from)) {
        const last = all.at(-1);
        if (last && next.from <= last.until) all[all.length - 1] = { from: last.from, until: Math.max(last.until, next.until) };
        else all.push({ from: next.from, until: next.until });
    }
    return all;
}

/** Stretches of the line from `from` to `until`: busy ones, and the idle ones between. */
export function stretchesOf(busy: readonly Interval[], from: number, until: number): Stretch[] {
    const parts: { from: number; until: number; idle: boolean }[] = [];
    let at = from;
    for (const one of merged(busy)) {
        if (one.from > at) parts.push({ from: at, until: one.from, idle: true });
        if (one.until > one.from) parts.push({ ...one, idle: false });
        at = Math.max(at, one.until);
    }
    if (until > at) parts.push({ from: at, until, idle: true });
    return placed(parts);
}

function placed(parts: readonly { from: number; until: number; idle: boolean }[]): Stretch[] {
    const length = (part: Interval) => part.until - part.from;
    const busy = parts.filter((part) => !part.idle).reduce((sum, part) => sum + length(part), 0);
    const idle = parts.filter((part) => part.idle).length;
    const longest = busy > 0 ? (busy * IDLE_ROOM) / Math.max(1, idle) : Infinity;
    const rooms = parts.map((part) => (part.idle ? Math.min(length(part), longest) : length(part)));
    const total = rooms.reduce((sum, room) => sum + room, 0) || 1;
    let begin = 0;
    return parts.map((part, index) => {
        const room = rooms[index] ?? 0;
        const end = begin + room / total;
        const stretch = { from: part.from, until: part.until, begin, end, cut: part.idle && length(part) > room * 1.01 };
        begin = end;
        return stretch;
    });
}

/** Place of a time on the line, from 0 to 1. */
export function placeOf(stretches: readonly Stretch[], at: number): number {
    const stretch = stretches.find((one) => at <= one.until) ?? stretches.at(-1);
    if (!stretch) return 0;
    const share = (at - stretch.from) / (stretch.until - stretch.from || 1);
    return stretch.begin + Math.min(1, Math.max(0, share)) * (stretch.end - stretch.begin);
}

/** Rows for intervals of one lane such that those of a row do not overlap; `most` rows at most, the last takes the rest. */
export function rowsOf(intervals: readonly Interval[], most: number): number[] {
    const ends: number[] = [];
    return intervals.map((one) => {
        const free = ends.findIndex((end) => end <= one.from);
        const row = free >= 0 ? free : Math.min(ends.length, most - 1);
        ends[row] = Math.max(ends[row] ?? 0, one.until);
        return row;
    });
}
