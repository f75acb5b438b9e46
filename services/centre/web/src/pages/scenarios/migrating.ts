// A migration goes over the live orders in parts; this asks for all of them, and adds up what the parts say.

import { change, json, type ApiRequest, type Schemas } from "../../api/client";

export type Migrated = Schemas["MigratedView"];

export interface Migrating {
    readonly name: string;
    readonly from: number;
    readonly to: number;
    readonly apply: boolean;
    readonly reason?: string;
}

/** Request for one part, behind the word `next` of the part before. */
export function partRequest({ name, from, to, apply, reason }: Migrating, after?: string | null): ApiRequest {
    const body = { from, to, ...(apply ? { apply } : {}), ...(reason ? { reason } : {}), ...(after ? { after } : {}) };
    return change("POST", "/v1/scenarios/{name}/migrate", { name }, body);
}

/** Sum of two parts; orders that stay for the same reason stand together. */
export function added(one: Migrated | undefined, other: Migrated): Migrated {
    if (!one) return other;
    const reasons = new Map(one.reasons.map((left) => [left.reason, left]));
    for (const left of other.reasons) {
        const known = reasons.get(left.reason);
        reasons.set(left.reason, known ? { ...known, orders: known.orders + left.orders } : left);
    }
    return { ...other, moved: one.moved + other.moved, left: one.left + other.left, reasons: [...reasons.values()] };
}

/** Asks part after part, and says what is known after each. */
export async function migrateAll(what: Migrating, known: (sum: Migrated) => void, signal: AbortSignal): Promise<Migrated> {
    let sum: Migrated | undefined;
    let after: string | null | undefined;
    do {
        const part = await json<Migrated>(partRequest(what, after), signal);
        sum = added(sum, part);
        after = part.next;
        known(sum);
    } while (after);
    return sum;
}
