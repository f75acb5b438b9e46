// What the errors page looks at: conditions that stand in its address, and what leads on from a group.

import type { Query } from "../../api/client";

/** Fields by which errors are grouped and selected, in the order in which one looks from one to the next. */
export const FIELDS = ["class", "scenario", "state", "step", "system"] as const;
export type Field = (typeof FIELDS)[number];

export const SINCES = ["15m", "1h", "6h", "24h", "7d", "31d"] as const;
export const USUAL_SINCE = "24h";

export type Conditions = { readonly [F in Field]?: string };

export interface Selection {
    readonly by: Field;
    /** As the address has it: one of the usual lengths, or any time that the API takes. */
    readonly since: string;
    readonly conditions: Conditions;
    readonly status: "fail" | "retry";
}

/** The class by which the API finds orders without one. */
export const UNCLASSIFIED = "unclassified";

export function selectionOf(query: URLSearchParams): Selection {
    const conditions: Record<string, string> = {};
    for (const field of FIELDS) {
        const value = query.get(field);
        if (value) conditions[field] = value;
    }
    const by = FIELDS.find((field) => field === query.get("by")) ?? "class";
    return { by, since: query.get("since") || USUAL_SINCE, conditions, status: query.get("status") === "retry" ? "retry" : "fail" };
}

/** Conditions that are set, in the order of the fields. */
export function setConditions(conditions: Conditions): [Field, string][] {
    return FIELDS.flatMap((field) => {
        const value = conditions[field];
        return value ? [[field, value] as [Field, string]] : [];
    });
}

interface Group {
    readonly key: string | null;
    readonly scenario?: string | null;
}

/** Conditions that select the orders of a group; nothing where the API cannot select them. */
export function conditionsOf(by: Field, group: Group): Conditions | undefined {
    const key = group.key ?? (by === "class" ? UNCLASSIFIED : undefined);
    if (key === undefined) return undefined;
    // A state is one of its scenario: others may have one of the same name.
    return { [by]: key, ...(group.scenario && by !== "scenario" ? { scenario: group.scenario } : {}) };
}

/** The next field that tells groups of these conditions apart. */
export function nextField(by: Field, conditions: Conditions): Field {
    const at = FIELDS.indexOf(by);
    const others = [...FIELDS.slice(at + 1), ...FIELDS.slice(0, at)];
    // The present state of a failed order is its terminal one, which seldom says more.
    return others.find((field) => !conditions[field] && field !== "step") ?? by;
}

/** What changes in the address on the way into a group. */
export function into(selection: Selection, group: Group, status: "fail" | "retry"): Query | undefined {
    const more = conditionsOf(selection.by, group);
    if (!more) return undefined;
    const by = nextField(selection.by, { ...selection.conditions, ...more });
    return { ...more, by: by === "class" ? undefined : by, status: status === "fail" ? undefined : status, cursor: undefined };
}

/** Words of the command line that ask for the same. */
export function commandOf({ by, since, conditions }: Selection): string[] {
    const words = setConditions(conditions).flatMap(([field, value]) => [`--${field}`, value]);
    return ["errors", ...(by === "class" ? [] : ["--by", by]), ...words, ...(since === USUAL_SINCE ? [] : ["--since", since])];
}
