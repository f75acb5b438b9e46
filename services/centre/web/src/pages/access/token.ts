// What is known of a token, and of how long it is to be valid.

import type { Schemas } from "../../api/client";

export const ROLES = ["viewer", "operator", "admin", "client", "system"] as const;
export type Role = (typeof ROLES)[number];

export const VALIDITIES = ["days_30", "days_90", "days_365", "unlimited"] as const;
export type Validity = (typeof VALIDITIES)[number];

const DAYS: Record<Validity, number | undefined> = { days_30: 30, days_90: 90, days_365: 365, unlimited: undefined };

/** End of a validity that begins now, in milliseconds since 1970. */
export function endOf(validity: Validity, now: number): string | undefined {
    const days = DAYS[validity];
    return days === undefined ? undefined : new Date(now + days * 86_400_000).toISOString();
}

export type TokenState = "valid" | "expired" | "revoked";

export function stateOf(token: Pick<Schemas["TokenView"], "endsAt" | "revokedAt">, now: number): TokenState {
    if (token.revokedAt) return "revoked";
    return token.endsAt && Date.parse(token.endsAt) <= now ? "expired" : "valid";
}

/** The principal that made a token, as people know it: by name, else by address. */
export function makerOf(madeBy: unknown): string {
    const { name, from, door } = (madeBy ?? {}) as { name?: string | null; from?: string | null; door?: string };
    return name ?? from ?? door ?? "";
}

/** Names that stand apart by commas or spaces. */
export function tenantsOf(typed: string): string[] {
    return typed.split(/[\s,]+/).filter((name) => name !== "");
}
