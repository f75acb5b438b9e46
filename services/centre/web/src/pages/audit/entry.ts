// What an entry of the audit log says, taken apart for the page.

import { to } from "../../app/router";

export const KINDS = [
    "order",
    "flow",
    "system",
    "window",
    "queue",
    "scenario",
    "node",
    "lease",
    "operation",
    "search",
    "message",
    "token",
    "session",
    "engine",
] as const;

export const DOORS = ["http", "amqp", "operation", "engine"] as const;

const PAGES: Record<string, string> = {
    order: "orders",
    flow: "flows",
    system: "systems",
    queue: "queues",
    scenario: "scenarios",
    operation: "operations",
};

/** Address of the page of what an action was done to; nothing where there is none. */
export function subjectPage(kind: string, subject: string): string | undefined {
    const page = PAGES[kind];
    return page && subject !== "" ? to(page, subject) : undefined;
}

export interface Details {
    /** Whether the entry says what was there before and after. */
    readonly changed: boolean;
    readonly before: unknown;
    readonly after: unknown;
    /** The other fields. */
    readonly result: Record<string, unknown> | undefined;
}

/** Parts of the details of an entry. */
export function partsOf(detail: unknown): Details {
    if (typeof detail !== "object" || detail === null || Array.isArray(detail)) {
        const result = detail === null || detail === undefined ? undefined : { detail };
        return { changed: false, before: undefined, after: undefined, result };
    }
    const { before, after, ...rest } = detail as Record<string, unknown>;
    const changed = "before" in detail || "after" in detail;
    return { changed, before, after, result: Object.keys(rest).length > 0 ? rest : undefined };
}

/** Names of the conditions, as the API and the address have them. */
export const CONDITIONS = ["name", "action", "kind", "subject", "door", "since", "until"] as const;
export type Condition = (typeof CONDITIONS)[number];
export type Conditions = Record<Condition, string>;

export function conditionsOf(query: URLSearchParams): Conditions {
    return Object.fromEntries(CONDITIONS.map((name) => [name, query.get(name) ?? ""])) as Conditions;
}

/** Words of the command line for a list or an export; nothing where it lacks one of the conditions. */
export function commandOf(conditions: Conditions, more: readonly string[] = []): string[] | undefined {
    if (conditions.door !== "") return undefined;
    const options = CONDITIONS.filter((name) => conditions[name] !== "").flatMap((name) => [`--${name}`, conditions[name]]);
    return ["audit", ...more, ...options];
}
