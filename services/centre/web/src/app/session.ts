// Who asks, and what they may do.

import { computed, signal } from "@preact/signals";
import { credentials, json, read, sendOnce, type Schemas } from "../api/client";

export type Session = Schemas["SessionView"];

/** Who asks, as the server says; nothing until it has said so. */
export const session = signal<Session | undefined>(undefined);
/** Whether a request was refused for want of a session, so that the login stands over the page. */
export const loginWanted = signal(false);

let waiting: (() => void)[] = [];

credentials.refused = (again) => {
    waiting.push(again);
    loginWanted.value = true;
};

/** Takes a session that the server has answered with. */
export function take(answer: Session): void {
    session.value = answer;
    credentials.csrfToken = answer.csrfToken ?? undefined;
    if (answer.role) {
        loginWanted.value = false;
        const all = waiting;
        waiting = [];
        for (const again of all) again();
    }
}

/** Asks who asks. */
export async function loadSession(): Promise<void> {
    const answer = await json<Session>(read("/v1/session"));
    take(answer);
    if (!answer.role) loginWanted.value = true;
}

/** Logs a person in. Throws a `Failure`. */
export async function logIn(name: string, password: string): Promise<void> {
    const response = await sendOnce({ method: "POST", url: "/v1/session", body: { name, password } });
    take((await response.json()) as Session);
}

export async function logOut(): Promise<void> {
    await sendOnce({ method: "DELETE", url: "/v1/session" });
    await loadSession();
}

const RANKS: Record<string, number> = { viewer: 1, operator: 2, admin: 3 };

/** Whether the person has at least a role. The server decides; this only spares people a refusal. */
export function may(role: "viewer" | "operator" | "admin"): boolean {
    return rank.value >= (RANKS[role] ?? 0);
}

/** Whether somebody sees the things of every tenant. The server decides; this only spares people what would be refused. */
export const seesWhole = computed(() => !session.value?.tenants);

const rank = computed(() => RANKS[session.value?.role ?? ""] ?? 0);
