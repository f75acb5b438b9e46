// Conditions of the list of refused messages, as the address has them. List, and drop of all, take the same.

import type { Schemas } from "../../api/client";

export const STATUSES = ["open", "answered", "all"] as const;
export const AGES = ["1h", "1d", "7d", "30d"] as const;

/** Types of reasons that the engine has; the address may have others. */
export const TYPES = ["malformed", "invalid", "unknown-scenario", "unknown-key", "conflict", "too-large", "internal"] as const;

export interface Filter {
    readonly status: (typeof STATUSES)[number];
    readonly reasonType: string;
    readonly refusedBefore: string;
}

export function filterOf(query: URLSearchParams): Filter {
    return {
        status: STATUSES.find((status) => status === query.get("status")) ?? "open",
        reasonType: query.get("reasonType") ?? "",
        refusedBefore: query.get("refusedBefore") ?? "",
    };
}

/** Conditions as fields of a request: those that are set. */
export function fieldsOf(filter: Filter): Record<string, string> {
    return {
        status: filter.status,
        ...(filter.reasonType === "" ? {} : { reasonType: filter.reasonType }),
        ...(filter.refusedBefore === "" ? {} : { refusedBefore: filter.refusedBefore }),
    };
}

/**
 * The body of a drop of all that the first page of the list shows, and of all behind it. It ends with the newest message of
 * the list, by the server's clock: what was refused after it has been seen by nobody. The API compares whole seconds, so that
 * it ends with the second of that message.
 */
export function dropOf(filter: Filter, items: readonly Pick<Schemas["RefusedLine"], "refusedAt">[], reason: string): Schemas["RefusedDropBody"] {
    const fields = fieldsOf(filter);
    const newest = Math.max(0, ...items.map((item) => Date.parse(item.refusedAt)));
    const end = new Date((Math.floor(newest / 1_000) + 1) * 1_000).toISOString();
    return { ...fields, refusedBefore: fields["refusedBefore"] ?? end, reason } as Schemas["RefusedDropBody"];
}

/** Type of a reason, which stands at its begin: `malformed: the body is not JSON`. */
export function reasonParts(reason: string): { type: string | undefined; words: string } {
    const found = /^([a-z][a-z-]*): ([\s\S]*)$/.exec(reason);
    return found ? { type: found[1], words: found[2] ?? "" } : { type: undefined, words: reason };
}

export function commandOf(filter: Filter): string[] {
    const words = ["refused", "list"];
    if (filter.status !== "open") words.push("--status", filter.status);
    if (filter.reasonType) words.push("--reason-type", filter.reasonType);
    if (filter.refusedBefore) words.push("--refused-before", filter.refusedBefore);
    return words;
}
