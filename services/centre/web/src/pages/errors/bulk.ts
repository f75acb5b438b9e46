// An action on all orders of a group, as the bulk operation that does it.

import type { Schemas } from "../../api/client";
import { setConditions, type Conditions, type Field } from "./selection";

export const ACTIONS = ["restart", "cancel", "kill"] as const;
export type Action = (typeof ACTIONS)[number];

/** What a person chooses besides the orders. Numbers are as they were typed. */
export interface How {
    readonly action: Action;
    readonly from: "entry" | "initial";
    readonly pace: "all" | "ramp";
    readonly start: string;
    readonly factor: string;
    readonly stopPercent: string;
    readonly rate: string;
}

/** A careful begin: a restarted order costs its system a call, and a system that has just come back may not stand many. */
export const USUALLY: How = { action: "restart", from: "entry", pace: "ramp", start: "1", factor: "3", stopPercent: "20", rate: "" };

/** Actions for orders in a status. */
export function actionsFor(status: "fail" | "retry"): readonly Action[] {
    return status === "fail" ? ["restart", "cancel"] : ["kill"];
}

/** A search calls the state in which an order is its state, and the one in which its error arose otherwise. */
const SEARCHED: Record<Field, string> = { class: "class", scenario: "scenario", state: "errorState", step: "state", system: "system" };

/** Conditions of a search for the orders of a group, as the address of the orders page and an operation have them. */
export function searchOf(conditions: Conditions, status: "fail" | "retry", since: string): Record<string, string> {
    const search: Record<string, string> = { status };
    for (const [field, value] of setConditions(conditions)) search[SEARCHED[field]] = value;
    // What is in retry has not ended.
    if (status === "fail") search["finishedSince"] = since;
    return search;
}

function typed(text: string): number | undefined {
    const value = Number(text.replace(",", "."));
    return text.trim() === "" || !Number.isFinite(value) ? undefined : value;
}

/** The body of `POST /v1/operations`. Each order must still be what it was selected for. */
export function operationOf(conditions: Conditions, since: string, how: How, reason: string): Schemas["OperationRequest"] {
    const status = how.action === "kill" ? "retry" : "fail";
    const { class: errorClass, state, errorState, system, ...plain } = searchOf(conditions, status, since);
    const lists = { status: plain["status"], class: errorClass, state, errorState, system };
    const search: Record<string, unknown> = { ...plain };
    // These conditions take several values; one that has a comma in it is still one.
    for (const [name, value] of Object.entries(lists)) if (value !== undefined) search[name] = [value];
    const rate = typed(how.rate);
    return {
        action: how.action,
        reason,
        search,
        with: { ifStatus: status, ...(how.action === "restart" && how.from === "initial" ? { from: "initial" } : {}) },
        ...(rate === undefined ? {} : { rate }),
        ...(how.pace === "ramp" ? { ramp: rampOf(how) } : {}),
    };
}

function rampOf(how: How): unknown {
    const stop = typed(how.stopPercent);
    return {
        start: typed(how.start) ?? 1,
        factor: typed(how.factor) ?? 3,
        ...(stop === undefined ? {} : { stopIf: { failedShare: stop / 100 } }),
    };
}
