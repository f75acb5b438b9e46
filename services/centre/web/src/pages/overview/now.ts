// The engine as it is now: sums of what the statistics count one by one.

import type { Schemas } from "../../api/client";

type Now = Schemas["StatsNow"];
export type Counted = Schemas["StatsCount"];

/** The number of a name. What the server leaves out is zero. */
export function countOf(counts: readonly Schemas["NamedCount"][], name: string): Counted {
    return counts.find((one) => one.name === name) ?? { count: 0 };
}

/** Sum of several; an estimate if one of them is. */
export function sumOf(counts: readonly Counted[]): Counted {
    return { count: counts.reduce((sum, one) => sum + one.count, 0), estimated: counts.some((one) => one.estimated) };
}

/** Waits in which an order does nothing and is in nobody's way. */
const RESTS = new Set(["sleep_youngest", "sleep_middle", "sleep_oldest", "wait", "polling", "postponed", "dependent"]);

export function restingOf(now: Pick<Now, "waiting">): Counted {
    return sumOf(now.waiting.filter((one) => RESTS.has(one.name)));
}

/** The longest delay by which orders are woken, in ms. */
export function lagOf(now: Pick<Now, "activation">): number {
    return Math.max(0, ...now.activation.map((one) => one.currentProcessingLagMs));
}

/** Status of the orders of a group of suspended ones. */
export function statusOfGroup(group: string): string {
    return group.startsWith("sleep_") ? "sleep" : group;
}

/** Lag from which on people should look, in ms: the engine wakes within a second. */
export const LATE_MS = 5_000;

/** Tones of statuses, as badges have them. */
export const STATUS_TONES: Record<string, "good" | "bad" | "busy" | "wait" | "rest" | "warn" | "plain"> = {
    running: "busy",
    success: "good",
    fail: "bad",
    retry: "warn",
    wait: "wait",
    polling: "wait",
    sleep: "rest",
    postponed: "rest",
};

/** Share of failed lives among those that ended; nothing where none ended. */
export function failedShare(counts: { success: number; fail: number; interrupted: number; canceled: number }): number | undefined {
    const ended = counts.success + counts.fail + counts.interrupted + counts.canceled;
    return ended === 0 ? undefined : counts.fail / ended;
}
