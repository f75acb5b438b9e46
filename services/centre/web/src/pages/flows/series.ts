// Points of the charts of a flow or a system: figures of its past decisions, and those that were polled since. No DOM.

import type { Schemas } from "../../api/client";

export type Decision = Schemas["DecisionView"];

/** Figures of a moment. What was not measured, or has no bound, is `null`. */
export interface Point {
    /** Milliseconds since 1970. */
    readonly at: number;
    readonly limit: number | null;
    readonly inProgress: number | null;
    readonly ready: number | null;
    readonly throughput: number | null;
    readonly p50: number | null;
    readonly p99: number | null;
    readonly errors: number | null;
}

export type Figures = Omit<Point, "at">;

/** Points that a page keeps at most: two hours of polling each two seconds. */
const MOST = 3_600;

/** What a flow or a system says of the present. */
export function figuresOf(view: Schemas["FlowView"] | Schemas["SystemView"]): Figures {
    const { ready } = view as Partial<Schemas["FlowView"]>;
    return {
        limit: view.limit ?? null,
        inProgress: view.inProgress,
        ready: ready ? ready.high + ready.normal + ready.low : null,
        throughput: view.throughput,
        p50: view.shortTerm.p50Ms ?? null,
        p99: view.shortTerm.p99Ms ?? null,
        errors: sumOf(view.errors),
    };
}

/** Figures that stand beside a decision. */
export function pointOf(decision: Decision): Point {
    const { numbers } = decision;
    return {
        at: Date.parse(decision.at),
        limit: decision.limit ?? null,
        inProgress: numbers.inProgress,
        ready: numbers.ready ?? null,
        throughput: numbers.throughput,
        p50: numbers.p50Ms ?? null,
        p99: numbers.p99Ms ?? null,
        errors: sumOf(numbers.errors),
    };
}

/** Sum of errors by class. */
export function sumOf(errors: Readonly<Record<string, number>> | undefined): number {
    return Object.values(errors ?? {}).reduce((sum, one) => sum + one, 0);
}

/** The points with one more behind them. A point of the same time takes the place of the last one; the oldest give way. */
export function withPoint(points: readonly Point[], point: Point): readonly Point[] {
    const last = points.at(-1);
    if (last && point.at < last.at) return points;
    const kept = last?.at === point.at ? points.slice(0, -1) : points;
    return [...kept.slice(-(MOST - 1)), point];
}

/**
 * Points of a span of time that begins at `since`: of decisions until the first polled one, then the polled ones. A gap longer than `quiet` ms has an
 * empty point within, since nothing is known of the figures between.
 */
export function joined(decisions: readonly Decision[], polled: readonly Point[], since: number, quiet: number): Point[] {
    const begin = polled[0]?.at ?? Infinity;
    const past = decisions.map(pointOf).filter((one) => one.at < begin);
    const all = [...past, ...polled].filter((one) => one.at >= since).sort((one, other) => one.at - other.at);
    const before = past.filter((one) => one.at < since).reduce<Point | undefined>((last, one) => (last && last.at > one.at ? last : one), undefined);
    const whole = [empty(since, before?.limit ?? null), ...all];
    return whole.flatMap((point, index) => [...between(whole[index - 1], point, index > 1 ? quiet : 0), point]);
}

/** What stands between two points: nothing where they are near. A limit that ends with the second is drawn up to it. */
function between(before: Point | undefined, point: Point, quiet: number): Point[] {
    if (!before || point.at - before.at <= Math.max(quiet, 1)) return [];
    if (before.limit !== null && point.limit === null) return [empty(point.at - 1, before.limit)];
    return quiet > 0 ? [empty(before.at + quiet / 2, before.limit)] : [];
}

/** A point of which nothing is known but the limit: that goes on, since each change of it has a decision of its own. */
function empty(at: number, limit: number | null): Point {
    return { at, limit, inProgress: null, ready: null, throughput: null, p50: null, p99: null, errors: null };
}

/** Values of one figure, in the order of the points. */
export function valuesOf(points: readonly Point[], figure: keyof Figures): (number | null)[] {
    return points.map((point) => point[figure]);
}
