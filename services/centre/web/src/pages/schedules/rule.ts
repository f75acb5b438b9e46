// What the parts of the page have in common: how a schedule and its rule are named. No DOM.

import type { Schemas } from "../../api/client";
import { localOf, timeOf } from "../../app/local";

export type Schedule = Schemas["ScheduleView"];
export type Run = Schemas["ScheduleRunView"];
export type ScheduleBody = Schemas["ScheduleBody"];

/** The rule in a few words: `0 3 * * 1-5 Europe/Berlin`, `15m`. */
export function ruleText(rule: { readonly cron?: string | null; readonly every?: string | null; readonly zone?: string | null }): string {
    return rule.cron ? `${rule.cron} ${rule.zone ?? "UTC"}` : (rule.every ?? "");
}

/** Scenario of the orders. */
export function scenarioOf(schedule: Schedule): string {
    const order = schedule.order as { scenario?: unknown } | null | undefined;
    return typeof order?.scenario === "string" ? order.scenario : "";
}

/** A schedule as it stands in the form. Times are local to the zone of the page. */
export interface Draft {
    readonly name: string;
    readonly kind: "cron" | "every";
    readonly cron: string;
    readonly every: string;
    readonly zone: string;
    readonly from: string;
    readonly until: string;
    /** One on each line. */
    readonly exceptions: string;
    readonly policy: "one" | "all" | "skip";
    readonly within: string;
    readonly overlap: "skip" | "queue" | "replace" | "allow";
    readonly note: string;
    /** JSON of the order. */
    readonly order: string;
}

const EMPTY: Draft = {
    name: "",
    kind: "cron",
    cron: "0 3 * * *",
    every: "1h",
    zone: "",
    from: "",
    until: "",
    exceptions: "",
    policy: "one",
    within: "1h",
    overlap: "skip",
    note: "",
    order: '{"scenario": ""}',
};

export function newDraft(zone: string): Draft {
    return { ...EMPTY, zone };
}

/** Between the two times of a range, as ISO 8601 writes an interval. */
const BETWEEN = "/";

/** The form filled from a schedule. */
export function draftOf(schedule: Schedule, isUtc: boolean): Draft {
    const local = (at: string | null | undefined) => (at ? localOf(at, isUtc) : "");
    const lines = (schedule.exceptions ?? []).map((one) => (typeof one === "string" ? one : `${one.from}${BETWEEN}${one.until}`.replaceAll(".000Z", "Z")));
    return {
        name: schedule.name,
        kind: schedule.cron ? "cron" : "every",
        cron: schedule.cron ?? EMPTY.cron,
        every: schedule.every ?? EMPTY.every,
        zone: schedule.zone ?? "",
        from: local(schedule.from),
        until: local(schedule.until),
        exceptions: lines.join("\n"),
        policy: schedule.catchUp.policy,
        within: schedule.catchUp.within ?? "",
        overlap: schedule.overlap,
        note: schedule.note,
        order: JSON.stringify(schedule.order, null, 2),
    };
}

/** The body of a request; nothing while something that it needs is missing. */
export function bodyOf(draft: Draft, reason: string, isUtc: boolean): ScheduleBody | undefined {
    const order = orderOf(draft.order);
    const when = draft.kind === "cron" ? draft.cron.trim() : draft.every.trim();
    if (!draft.name.trim() || !when || !order?.["scenario"]) return undefined;
    const exceptions = exceptionsOf(draft.exceptions);
    const catchUp = draft.policy === "skip" || !draft.within ? { policy: draft.policy } : { policy: draft.policy, within: draft.within };
    return {
        name: draft.name.trim(),
        [draft.kind]: when,
        ...(draft.zone.trim() ? { zone: draft.zone.trim() } : {}),
        ...(draft.from ? { from: timeOf(draft.from, isUtc) } : {}),
        ...(draft.until ? { until: timeOf(draft.until, isUtc) } : {}),
        ...(exceptions.length > 0 ? { exceptions } : {}),
        catchUp,
        overlap: draft.overlap,
        order,
        ...(draft.note ? { note: draft.note } : {}),
        ...(reason ? { reason } : {}),
    } as ScheduleBody;
}

function exceptionsOf(text: string): NonNullable<ScheduleBody["exceptions"]> {
    const lines = text.split("\n").map((line) => line.trim());
    return lines
        .filter((line) => line !== "")
        .map((line) => {
            const [from = "", until] = line.split(BETWEEN).map((one) => one.trim());
            return until === undefined ? from : { from, until };
        });
}

function orderOf(text: string): Record<string, unknown> | undefined {
    try {
        const value: unknown = JSON.parse(text);
        return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Record<string, unknown>) : undefined;
    } catch {
        return undefined;
    }
}
