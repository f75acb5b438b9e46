// A subscription as it is written in the form, and its conditions in words.

import type { Schemas } from "../../api/client";

export interface Draft {
    readonly name: string;
    readonly url: string;
    /** Masks, apart by commas. */
    readonly scenarios: string;
    /** `key=value`, apart by commas. */
    readonly labels: string;
    /** Final statuses, apart by commas. */
    readonly outcomes: string;
}

function words(text: string): string[] {
    return text
        .split(",")
        .map((word) => word.trim())
        .filter((word) => word !== "");
}

/** The body of the request; what is not filled in is left out. */
export function bodyOf(draft: Draft): Schemas["SubscriptionBody"] {
    const pairs = words(draft.labels).map((pair) => {
        const at = pair.indexOf("=");
        return at < 0 ? [pair, ""] : [pair.slice(0, at).trim(), pair.slice(at + 1).trim()];
    });
    return {
        url: draft.url.trim(),
        scenarios: words(draft.scenarios),
        labels: Object.fromEntries(pairs) as Record<string, string>,
        outcomes: words(draft.outcomes),
    };
}

/** The conditions of a subscription, one after the other; empty where it hears of every order. */
export function conditionsOf(one: Pick<Schemas["SubscriptionView"], "scenarios" | "labels" | "outcomes">): string {
    const labels = Object.entries(one.labels).map(([key, value]) => `${key}=${value}`);
    return [...one.scenarios, ...labels, ...one.outcomes].join(", ");
}
