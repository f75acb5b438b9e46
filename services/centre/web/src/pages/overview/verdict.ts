// The verdict, and where people look after a finding.

import type { Schemas } from "../../api/client";
import type { Freshness } from "../../api/resource";

export type Verdict = "ok" | "warning" | "error" | "unknown" | "wait";

/** What may be said: nothing but fresh data says that all is well, or that something is wrong. */
export function verdictOf(state: Freshness, doctor: Pick<Schemas["DoctorView"], "verdict"> | undefined): Verdict {
    if (state === "waiting") return "wait";
    return state === "fresh" && doctor ? doctor.verdict : "unknown";
}

const PAGES: Record<string, string> = {
    backlog: "/flows",
    configuration: "/deployment",
    consistency: "/orders?inconsistent=true",
    flows: "/flows",
    nodes: "/deployment",
    notifications: "/refused?tab=notifications",
    refused: "/refused",
    stops: "/flows?tab=stops",
    systems: "/flows?tab=systems",
};

/** Page that shows more about a check; a check like `nodes.versions` belongs to `nodes`. */
export function pageOfCheck(check: string): string | undefined {
    return PAGES[check] ?? PAGES[check.split(".")[0] ?? ""];
}
