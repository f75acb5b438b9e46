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

/** Makes the request for one part, behind the word `next` of the part before. */
export type PartRequest = (after?: string | null) => ApiRequest;

/** Moves the live orders of a version to another, or only looks at them. */
export function migration({ name, from, to, apply, reason }: Migrating): PartRequest {
    return (after) => {
        const body = { from, to, ...(apply ? { apply } : {}), ...(reason ? { reason } : {}), ...(after ? { after } : {}) };
        return change("POST", "/v1/scenarios/{name}/migrate", { name }, body);
    };
}

/** The same for a text that is not applied, which moves nothing. */
export function migrationPreview(from: number, body: string): PartRequest {
    return (after) => ({ ...change("POST", "/v1/scenarios/migration", {}, body, { from, after }), mediaType: "application/yaml" });
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
export async function migrateAll(part: PartRequest, known: (sum: Migrated) => void, signal: AbortSignal): Promise<Migrated> {
    let sum: Migrated | undefined;
    let after: string | null | undefined;
    do {
        const answer = await json<Migrated>(part(after), signal);
        sum = added(sum, answer);
        after = answer.next;
        known(sum);
    } while (after);
    return sum;
}
