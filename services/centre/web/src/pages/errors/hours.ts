// Counts of hours as bars of one width.

import type { Schemas } from "../../api/client";

const HOUR = 3_600_000;

export interface Bucket {
    /** Start, in ms since 1970. */
    readonly from: number;
    readonly failed: number;
    readonly retrying: number;
}

export interface Buckets {
    readonly bars: readonly Bucket[];
    /** Length of each, in ms. */
    readonly length: number;
    /** The largest of them. */
    readonly most: number;
}

/** Hours from `since` to `until`, put together so that there are `most` bars at most. Hours without a failure are zero. */
export function bucketsOf(hours: readonly Schemas["ErrorHour"][], since: number, until: number, most = 48): Buckets {
    const first = Math.floor(since / HOUR);
    const count = Math.max(1, Math.floor(until / HOUR) - first + 1);
    const width = Math.ceil(count / most);
    const bars = Array.from({ length: Math.ceil(count / width) }, (_, index) => ({ from: (first + index * width) * HOUR, failed: 0, retrying: 0 }));
    for (const hour of hours) {
        // What came into retry before the time that is looked back over stands at its begin.
        const place = Math.max(0, Math.floor((Date.parse(hour.from) / HOUR - first) / width));
        const bar = bars[Math.min(place, bars.length - 1)];
        if (!bar) continue;
        bar.failed += hour.failed;
        bar.retrying += hour.retrying;
    }
    return { bars, length: width * HOUR, most: Math.max(0, ...bars.map((bar) => bar.failed + bar.retrying)) };
}

/** Height of a part of a bar, of `of` in all: what is there is seen. */
export function height(value: number, most: number, of: number): number {
    return value <= 0 || most <= 0 ? 0 : Math.max(1, (of * value) / most);
}

/** Bars as a picture: a path for what failed, and one upon it for what is in retry. */
export interface Drawn {
    readonly width: number;
    readonly failed: string;
    readonly retrying: string;
}

/** Distance of bars in units of the picture; each is one narrower. */
const STEP = 4;
/** Bars that the picture has room for: fewer stand at its right, where the present is. */
const ROOM = 24;

/** Draws bars into a picture of a height. Two paths cost a page the same however many bars they have. */
export function drawn({ bars, most }: Buckets, tall: number): Drawn {
    const width = Math.max(ROOM, bars.length) * STEP;
    const left = width - bars.length * STEP;
    let failed = "";
    let retrying = "";
    for (const [index, bar] of bars.entries()) {
        const x = left + index * STEP;
        const low = height(bar.failed, most, tall - 1);
        const high = height(bar.retrying, most, tall - 1);
        if (low > 0) failed += rectangle(x, tall, low);
        if (high > 0) retrying += rectangle(x, tall - low, high);
    }
    return { width, failed, retrying };
}

function rectangle(x: number, bottom: number, tall: number): string {
    return `M${x} ${round(bottom)}v${round(-tall)}h${STEP - 1}v${round(tall)}z`;
}

function round(value: number): number {
    return Math.round(value * 100) / 100;
}
