// What the parts of the page have in common: how a schedule and its rule are named. No DOM.

import type { Schemas } from "../../api/client";

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

export interface Draft {
    readonly name: string;
    readonly kind: "cron" | "every";
    readonly cron: string;
    readonly every: string;
    readonly zone: string;
    readonly policy: "one" | "all" | "skip";
    readonly within: string;
    readonly overlap: "skip" | "queue" | "replace" | "allow";
    readonly note: string;
    /** JSON of the order. */
    readonly order: string;
}

export function newDraft(zone: string): Draft {
    return { name: "", kind: "cron", cron: "0 3 * * *", every: "1h", zone, policy: "one", within: "1h", overlap: "skip", note: "", order: '{"scenario": ""}' };
}

/** The body of a request; nothing while something that it needs is missing. */
export function bodyOf(draft: Draft, reason: string): ScheduleBody | undefined {
    const order = orderOf(draft.order);
    const when = draft.kind === "cron" ? draft.cron.trim() : draft.every.trim();
    if (!draft.name.trim() || !when || !order?.["scenario"]) return undefined;
    const catchUp = draft.policy === "skip" || !draft.within ? { policy: draft.policy } : { policy: draft.policy, within: draft.within };
    return {
        name: draft.name.trim(),
        [draft.kind]: when,
        ...(draft.zone.trim() ? { zone: draft.zone.trim() } : {}),
        catchUp,
        overlap: draft.overlap,
        order,
        ...(draft.note ? { note: draft.note } : {}),
        ...(reason ? { reason } : {}),
    } as ScheduleBody;
}

function orderOf(text: string): Record<string, unknown> | undefined {
    try {
        const value: unknown = JSON.parse(text);
        return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Record<string, unknown>) : undefined;
    } catch {
        return undefined;
    }
}
