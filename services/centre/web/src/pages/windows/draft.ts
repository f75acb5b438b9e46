// A window as it stands in the form, and the request that it makes. No DOM.

import type { Schemas } from "../../api/client";
import { dayAt, DAY, MINUTE, timeOf, wallAt, wallOfText } from "../../app/zoned";
import { lengthOf, WEEKDAYS, type Rule } from "./occurrences";

export type Body = Schemas["WindowRequest"];

export interface Draft {
    readonly kind: "flow" | "system";
    readonly target: string;
    /** Empty: once. */
    readonly every: "" | "day" | "week" | "month";
    /** Wall times of the page's zone, as fields of forms have them; empty: at once, or without a bound. */
    readonly from: string;
    readonly until: string;
    readonly weekdays: readonly string[];
    /** Days of a month with commas between them. */
    readonly monthDays: string;
    readonly at: string;
    readonly zone: string;
    readonly length: string;
    readonly shift: boolean;
}

export function newDraft(kind: Draft["kind"], target: string, zone: string): Draft {
    return { kind, target, every: "", from: "", until: "", weekdays: [], monthDays: "", at: "02:00", zone, length: "3h", shift: false };
}

/** The body of a request; nothing while something that it needs is missing. */
export function bodyOf(draft: Draft, pageZone: string, reason: string, dryRun: boolean): Body | undefined {
    if (!draft.target || lengthOf(draft.length) === undefined) return undefined;
    const from = timeText(draft.from, pageZone);
    const common = { [draft.kind]: draft.target, for: draft.length, reason, dryRun, ...(draft.kind === "flow" ? { shift: draft.shift } : {}), ...(from ? { from } : {}) };
    if (!draft.every) return common as Body;
    const on = daysOf(draft);
    if (!draft.at || (draft.every !== "day" && on.length === 0)) return undefined;
    const until = timeText(draft.until, pageZone);
    const days = draft.every === "day" ? {} : { on };
    return { ...common, every: draft.every, at: draft.at, zone: draft.zone, ...days, ...(until ? { until } : {}) } as Body;
}

function daysOf(draft: Draft): string[] {
    if (draft.every === "week") return WEEKDAYS.filter((day) => draft.weekdays.includes(day));
    return draft.monthDays.split(",").map((one) => one.trim().toLowerCase()).filter((one) => one !== "");
}

function timeText(wall: string, zone: string): string | undefined {
    const at = wallOfText(wall);
    return at === undefined ? undefined : new Date(timeOf(zone, at)).toISOString();
}

/** Words of the command line for the same. */
export function commandOf(body: Body): string[] {
    const option = (name: string, value: string | null | undefined) => (value ? [`--${name}`, value] : []);
    return [
        "windows",
        "add",
        ...option("flow", body.flow),
        ...option("system", body.system),
        ...option("from", body.from ?? (body.every ? undefined : "now")),
        ...option("until", body.until),
        ...option("every", body.every),
        ...option("on", (body.on ?? []).join(",")),
        ...option("at", body.at),
        ...option("zone", body.zone),
        ...option("for", body.for),
        ...(body.shift ? ["--shift"] : []),
        ...option("reason", body.reason || "…"),
    ];
}

/** Whether the clocks of the rule's zone skip the time at which an occurrence was to begin. */
export function isMoved(rule: Pick<Rule, "every" | "at" | "zone">, from: number): boolean {
    if (!rule.every || !rule.at) return false;
    const zone = rule.zone ?? "UTC";
    const [hour = 0, minute = 0] = rule.at.split(":").map(Number);
    return wallAt(zone, from) !== dayAt(zone, from) * DAY + (hour * 60 + minute) * MINUTE;
}
