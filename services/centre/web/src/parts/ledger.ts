// Where time went: its reasons, in shares that sum to 100 %.

import type { Schemas } from "../api/client";

export type LedgerShare = Schemas["LedgerShareView"];

/** A share in tenths of a percent, and where it begins on a bar of 1000. */
export interface Part extends LedgerShare {
    readonly tenths: number;
    readonly begin: number;
    readonly width: number;
}

/** Parts of the bar, the largest first. Tenths of a percent are rounded so that they sum to 1000, as people who add them expect. */
export function partsOf(shares: readonly LedgerShare[]): Part[] {
    const sorted = shares.filter((one) => one.ms > 0).sort((a, b) => b.ms - a.ms);
    const total = sorted.reduce((sum, one) => sum + one.ms, 0);
    const tenths = roundedTo(1_000, sorted.map((one) => one.ms / total));
    let begin = 0;
    return sorted.map((one, index) => {
        const width = (one.ms / total) * 1_000;
        const part = { ...one, tenths: tenths[index] ?? 0, begin, width };
        begin += width;
        return part;
    });
}

/** Whole numbers near to shares of `whole`, which sum to it: those with the largest rests are rounded up. */
export function roundedTo(whole: number, shares: readonly number[]): number[] {
    const rounded = shares.map((share) => Math.floor(share * whole));
    let left = shares.length === 0 ? 0 : whole - rounded.reduce((sum, one) => sum + one, 0);
    const byRest = shares.map((share, index) => ({ index, rest: (share * whole) % 1 })).sort((a, b) => b.rest - a.rest);
    for (const { index } of byRest) {
        if (left <= 0) break;
        rounded[index] = (rounded[index] ?? 0) + 1;
        left -= 1;
    }
    return rounded;
}

const TONES = {
    work: "busy",
    call: "good",
    wait: "wait",
    polling: "wait",
    sleep: "rest",
    postponed: "rest",
    retry: "warn",
    system: "bad",
    flow_stopped: "bad",
    queue: "accent",
    capacity: "plain",
    ended: "plain",
} as const;

/** Words of the engine for where time goes. */
export type Reason = keyof typeof TONES;

export function isKnown(reason: string): reason is Reason {
    return Object.hasOwn(TONES, reason);
}

/** Colour of a reason. The word stands beside it. */
export function toneOf(reason: string): string {
    return isKnown(reason) ? TONES[reason] : "plain";
}
