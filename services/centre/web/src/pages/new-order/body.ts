// A new order as its form has it, and the body of its registration.

import type { Schemas } from "../../api/client";
import { localOf, timeOf } from "../../app/local";
import { sorted } from "./params";

export interface Pair {
    readonly name: string;
    readonly value: string;
}

export interface Condition {
    readonly order: string;
    /** States apart by commas. */
    readonly states: string;
    readonly otherwise: string;
}

/** A receiver of notifications. */
export interface Receiver {
    readonly url: string;
    readonly correlationId: string;
    readonly timezone: string;
    readonly on: readonly string[];
    readonly format: string;
    /** Most notifications in one message. */
    readonly groupMax: string;
    /** Longest wait of one for others. */
    readonly groupWithin: string;
}

export const NO_RECEIVER: Receiver = { url: "", correlationId: "", timezone: "", on: [], format: "", groupMax: "", groupWithin: "" };
/** Receivers that an order may have. */
export const MOST_RECEIVERS = 8;

/** Everything of the form but the parameters, as it was typed. Times are local to the zone of the page. */
export interface Draft {
    readonly id: string;
    readonly scenario: string;
    readonly version: string;
    readonly mode: "parallel" | "sequential";
    readonly queue: string;
    readonly priority: "high" | "normal" | "low";
    readonly transactionId: string;
    readonly labels: readonly Pair[];
    readonly flow: readonly Pair[];
    readonly startAt: string;
    readonly periodToStart: string;
    readonly promiseAt: string;
    readonly after: readonly Condition[];
    readonly receivers: readonly Receiver[];
}

export const OCCASIONS = ["final", "transitions", "parked", "jeopardy"] as const;
export const FORMATS = ["pagurus", "cloudevents", "cloudevents-binary"] as const;

export function emptyDraft(id: string, scenario: string): Draft {
    return {
        id,
        scenario,
        version: "",
        mode: "parallel",
        queue: "",
        priority: "normal",
        transactionId: "",
        labels: [],
        flow: [],
        startAt: "",
        periodToStart: "",
        promiseAt: "",
        after: [],
        receivers: [NO_RECEIVER],
    };
}

/** An object without what has no value; nothing where nothing is left. */
function filled(fields: Record<string, unknown>): Record<string, unknown> | undefined {
    const given = Object.entries(fields).filter(([, value]) => value !== undefined && value !== "" && !(Array.isArray(value) && value.length === 0));
    return given.length > 0 ? Object.fromEntries(given) : undefined;
}

/** A number where the text is one; else the text, so that the server says what is wrong with it. */
function numberOf(text: string): number | string | undefined {
    const trimmed = text.trim();
    if (trimmed === "") return undefined;
    return /^\d+$/.test(trimmed) ? Number(trimmed) : trimmed;
}

function receiverOf({ url, correlationId, timezone, on, format, groupMax, groupWithin }: Receiver): Record<string, unknown> | undefined {
    const group = filled({ max: numberOf(groupMax), within: groupWithin.trim() });
    return filled({ url: url.trim(), correlationId: correlationId.trim(), timezone: timezone.trim(), on, format, group });
}

/** Pointers of the receivers within the body: one alone is no list, and one with nothing in it is not sent. */
export function receiverPointers(receivers: readonly Receiver[]): (string | undefined)[] {
    const isSent = receivers.map((one) => receiverOf(one) !== undefined);
    const isList = isSent.filter(Boolean).length > 1;
    return isSent.map((sent, index) => {
        if (!sent) return undefined;
        return isList ? `/notify/${isSent.slice(0, index).filter(Boolean).length}` : "/notify";
    });
}

/** The body of the registration. */
export function bodyOf(draft: Draft, params: Record<string, unknown>, isUtc: boolean): Record<string, unknown> {
    const time = (local: string) => (local === "" ? undefined : timeOf(local, isUtc));
    const after = draft.after.map(({ order, states, otherwise }) => ({
        order: order.trim(),
        states: states
            .split(",")
            .map((state) => state.trim())
            .filter((state) => state !== ""),
        ...(otherwise ? { otherwise } : {}),
    }));
    const lifecycle = filled({ startAt: time(draft.startAt), periodToStart: numberOf(draft.periodToStart), promiseAt: time(draft.promiseAt), after });
    const receivers = draft.receivers.map(receiverOf).filter((one) => one !== undefined);
    const notify = receivers.length > 1 ? receivers : receivers[0];
    const object = (pairs: readonly Pair[]) => {
        const named = pairs.filter(({ name }) => name !== "").map(({ name, value }) => [name, value] as const);
        return named.length > 0 ? Object.fromEntries(named) : undefined;
    };
    return {
        id: draft.id,
        scenario: draft.scenario,
        ...filled({ scenarioVersion: numberOf(draft.version) }),
        params,
        ...(draft.mode === "sequential" ? { mode: draft.mode, queue: draft.queue } : {}),
        ...(draft.priority === "normal" ? {} : { priority: draft.priority }),
        ...filled({ flow: object(draft.flow), labels: object(draft.labels), transactionId: draft.transactionId.trim(), lifecycle, notify }),
    };
}

/**
 * What is laid over an old order to get the clone that the form shows: fields that were changed, and null for those that were taken
 * away. What nobody touched stays with the server, which knows it whole, masked values included.
 */
export function changesOf(before: Record<string, unknown>, body: Record<string, unknown>): Record<string, unknown> {
    const changes: Record<string, unknown> = { id: body["id"] };
    for (const name of new Set([...Object.keys(before), ...Object.keys(body)])) {
        if (name === "id" || sorted(before[name] ?? null) === sorted(body[name] ?? null)) continue;
        // Without a word for it the server takes the usual value, not that of the old order.
        changes[name] = body[name] ?? null;
    }
    return changes;
}

type Order = Schemas["OrderView"];

/** Names of the times of an order that have passed: a clone is not ordered for a time in the past. */
export function passedOf(order: Order, now: number): string[] {
    const times = { startAt: order.startAt, promiseAt: order.promise?.promiseAt };
    return Object.entries(times)
        .filter(([, at]) => at && Date.parse(at) <= now)
        .map(([name]) => name);
}

/** The form filled from an order, with its ordered time, conditions and promise unless they lie in the past. */
export function draftOf(order: Order, id: string, isUtc: boolean, now: number): Draft {
    const future = (at: string | null | undefined) => (at && Date.parse(at) > now ? localOf(at, isUtc) : "");
    const notify = [order.notify ?? {}].flat() as Partial<Schemas["NotifyBody"]>[];
    const open = order.after.filter((one) => one.order === order.id && one.kind === "condition" && !one.settledAt);
    return {
        ...emptyDraft(id, order.scenario),
        mode: order.mode === "sequential" ? "sequential" : "parallel",
        queue: order.queue ?? "",
        priority: order.priority as Draft["priority"],
        transactionId: order.transactionId ?? "",
        labels: Object.entries(order.labels ?? {}).map(([name, value]) => ({ name, value })),
        startAt: future(order.startAt),
        periodToStart: periodOf(order),
        promiseAt: future(order.promise?.promiseAt),
        after: open.map((one) => ({ order: one.after, states: one.states.join(", "), otherwise: one.otherwise })),
        receivers: notify.map(({ url, correlationId, timezone, on, format, group }) => ({
            url: url ?? "",
            correlationId: correlationId ?? "",
            timezone: timezone ?? "",
            on: on ?? [],
            format: format ?? "",
            groupMax: String(group?.max ?? ""),
            groupWithin: group?.within ?? "",
        })),
    };
}

/** Seconds to start within: the server shows the deadline only. */
function periodOf(order: Order): string {
    if (!order.startDeadline) return "";
    const seconds = Math.round((Date.parse(order.startDeadline) - Date.parse(order.createdAt)) / 1_000);
    return seconds > 0 ? String(seconds) : "";
}
