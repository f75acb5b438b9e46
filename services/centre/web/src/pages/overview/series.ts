// Counts of the steps as lines of a chart.

import type { Schemas } from "../../api/client";

type Stats = Schemas["StatsView"];
type Step = Schemas["StatsStep"];

/** Processes count into the database every ten seconds, so that a step is complete that long after its end. */
const COUNTED_AFTER_MS = 10_000;

export interface Lines {
    /** Starts of the steps, in seconds since 1970. */
    readonly times: number[];
    readonly steps: readonly Omit<Step, "at">[];
}

const NOTHING: Omit<Step, "at"> = { registered: 0, success: 0, fail: 0, interrupted: 0, canceled: 0, stages: 0, calls: 0 };

/**
 * All steps of the time, also those in which nothing happened, which the server leaves out. A step that is not over yet is
 * left out here, since its count would look like a drop.
 */
export function linesOf(stats: Pick<Stats, "at" | "since" | "stepSeconds" | "steps">): Lines {
    const length = stats.stepSeconds * 1_000;
    const counted = new Map(stats.steps.map((step) => [Date.parse(step.at), step]));
    const end = Date.parse(stats.at) - COUNTED_AFTER_MS;
    const times: number[] = [];
    const steps: Omit<Step, "at">[] = [];
    for (let at = Date.parse(stats.since); at + length <= end; at += length) {
        times.push(at / 1_000);
        steps.push(counted.get(at) ?? NOTHING);
    }
    return { times, steps };
}

export type Counted = "registered" | "success" | "fail" | "interrupted" | "canceled" | "stages" | "calls";

/** Counts of each step, summed over several kinds. */
export function countsOf(lines: Lines, kinds: readonly Counted[]): number[] {
    return lines.steps.map((step) => kinds.reduce((sum, kind) => sum + step[kind], 0));
}

/** The same as rates a second. */
export function ratesOf(lines: Lines, stepSeconds: number, kinds: readonly Counted[]): number[] {
    return countsOf(lines, kinds).map((count) => count / stepSeconds);
}

/** Kinds of the end of a life. */
export const ENDED: readonly Counted[] = ["success", "fail", "interrupted", "canceled"];
