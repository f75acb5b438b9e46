// A bulk operation as its form has it, and the request that is made of it.

import { change, type ApiRequest } from "../../api/client";
import { flagsOf, ordersOf, type Selection } from "./selection";

export const ACTIONS = ["restart", "cancel", "interrupt", "kill", "update", "repair", "shift", "resend", "release", "check", "clone"] as const;
export type Action = (typeof ACTIONS)[number];

/** Actions that end the work on orders. */
export const ENDING: readonly Action[] = ["cancel", "interrupt", "kill"];

export type ActionField = "from" | "version" | "ignore" | "alone" | "state" | "priority" | "by";

/** Fields that the form has for an action, beside those that are written as JSON. */
export const FIELDS: Readonly<Partial<Record<Action, readonly ActionField[]>>> = {
    restart: ["from", "version", "ignore"],
    repair: ["alone", "state", "version"],
    update: ["priority"],
    shift: ["by"],
};

/** The form, as it was typed. */
export interface Draft {
    readonly action: Action;
    readonly from: string;
    readonly version: string;
    readonly ignore: boolean;
    /** True if a repair does only what failed. */
    readonly alone: boolean;
    readonly state: string;
    readonly priority: string;
    readonly by: string;
    /** More fields of the action, as JSON. */
    readonly more: string;
    readonly rate: string;
    readonly rampStart: string;
    readonly rampFactor: string;
    /** Share of failed orders at which the ramp pauses, in percent. */
    readonly stopIf: string;
    readonly follow: string;
    readonly urgency: string;
}

export const EMPTY: Draft = {
    action: "restart",
    from: "",
    version: "",
    ignore: false,
    alone: false,
    state: "",
    priority: "",
    by: "",
    more: "",
    rate: "",
    rampStart: "",
    rampFactor: "3",
    stopIf: "",
    follow: "",
    urgency: "",
};

/** An object of JSON; nothing where the text is none. */
export function objectOf(text: string): Record<string, unknown> | undefined {
    if (text.trim() === "") return {};
    try {
        const value: unknown = JSON.parse(text);
        return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Record<string, unknown>) : undefined;
    } catch {
        return undefined;
    }
}

/** Fields of the action, as its own request has them. */
export function withOf(draft: Draft): Record<string, unknown> {
    const has = (field: ActionField) => FIELDS[draft.action]?.includes(field);
    const fields: Record<string, unknown> = {};
    if (has("from") && draft.from.trim()) fields["from"] = draft.from.trim();
    if (has("version") && draft.version.trim()) fields["scenarioVersion"] = Number(draft.version);
    if (has("ignore") && draft.ignore) fields["ignoreConditions"] = true;
    const alone = has("alone") && draft.alone;
    if (alone) fields["failedAction"] = true;
    if (has("state") && !alone && draft.state.trim()) fields["state"] = draft.state.trim();
    if (has("priority") && draft.priority) fields["priority"] = draft.priority;
    if (has("by") && draft.by.trim()) fields["by"] = draft.by.trim();
    return { ...fields, ...objectOf(draft.more) };
}

/** The pace of the operation; what is left empty is left to the engine. */
export function paceOf(draft: Draft): Record<string, unknown> {
    const pace: Record<string, unknown> = {};
    if (draft.rate.trim()) pace["rate"] = Number(draft.rate);
    if (draft.rampStart.trim()) {
        const stop = draft.stopIf.trim() ? { stop_if: { failed_share: Number(draft.stopIf) / 100 } } : {};
        pace["ramp"] = { start: Number(draft.rampStart), factor: Number(draft.rampFactor), ...stop };
    }
    if (draft.follow.trim()) pace["follow"] = draft.follow.trim();
    if (draft.urgency) pace["urgency"] = draft.urgency;
    return pace;
}

/**
 * Orders of an operation: those that a selection finds, those that were ticked, or those that another operation failed with. Ticked
 * ones are no selection, where an id with a comma would be two.
 */
export type Orders = { readonly selection: Selection } | { readonly ids: readonly string[] } | { readonly again: number };

function named(orders: Orders): Record<string, unknown> {
    if ("again" in orders) return { again: orders.again };
    return "ids" in orders ? { search: { ids: orders.ids } } : ordersOf(orders.selection);
}

/** The request of an operation. `key` makes one operation of a request that is sent twice. */
export function operationRequest(orders: Orders, draft: Draft, reason: string, key?: string): ApiRequest {
    const body = { action: draft.action, ...named(orders), with: withOf(draft), ...paceOf(draft), reason };
    return { ...change("POST", "/v1/operations", {}, body), ...(key === undefined ? {} : { headers: { "Idempotency-Key": key } }) };
}

/** The request that only says which orders it would be. The API wants a reason also here, and keeps it nowhere. */
export function previewRequest(orders: Orders, draft: Draft): ApiRequest {
    const { body, ...request } = operationRequest(orders, draft, "-");
    return { ...request, body: { ...(body as object), dryRun: true } };
}

/** Words of the command line for the same; nothing where it has no flag for a condition. */
export function commandOf(orders: Orders, draft: Draft, reason: string): string[] | undefined {
    const fields = withOf(draft);
    const given = Object.keys(fields).length > 0 ? ["--with", JSON.stringify(fields)] : [];
    const pace = [
        ...flag("--rate", draft.rate),
        ...flag("--ramp", draft.rampStart && `${draft.rampStart}:${draft.rampFactor}`),
        ...flag("--stop-if-failed", draft.rampStart && draft.stopIf && String(Number(draft.stopIf) / 100)),
        ...flag("--follow", draft.follow),
        ...flag("--urgency", draft.urgency),
    ];
    const why = ["--reason", reason];
    if ("again" in orders) return ["operation", "again", String(orders.again), ...pace, ...why];
    const flags = "ids" in orders ? orders.ids.flatMap((id) => ["--id", id]) : flagsOf(orders.selection);
    return flags && ["operation", "start", draft.action, ...given, ...flags, ...pace, ...why];
}

function flag(name: string, value: string): string[] {
    return value.trim() === "" ? [] : [name, value.trim()];
}
