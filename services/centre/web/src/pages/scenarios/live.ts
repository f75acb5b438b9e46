// Live orders as the server counts them, put together for the pages of scenarios.

import { read, type Schemas } from "../../api/client";
import { EXAMINED } from "../../api/examined";

export type Counts = Schemas["OrderCounts"];

/** Statuses of orders that have not ended. */
export const LIVE = ["new", "postponed", "running", "sleep", "wait", "polling", "retry", "reopen"] as const;

const LIVE_LIST = LIVE.join(",");

/** Asks for live orders by scenario and status. */
export const byScenario = () => read("/v1/counts", {}, { by: "scenario,status", status: LIVE_LIST, examine: EXAMINED });

/**
 * Asks for live orders of a scenario, of one version or of all, by state and status. Those of other scenarios are examined too:
 * a page that only shows the counts takes some of them, one that concludes from them takes as many as the server gives.
 */
export const byState = (scenario: string, version?: number, examine?: number) =>
    read("/v1/counts", {}, { by: "state,status", scenario, scenarioVersion: version, status: LIVE_LIST, examine });

export interface Group {
    readonly key: string;
    readonly orders: number;
    /** Orders by status, in the order of a life. */
    readonly statuses: readonly { readonly status: string; readonly orders: number }[];
}

/** Counts by the first of two keys, the largest first. */
export function grouped(counts: Counts): Group[] {
    const groups = new Map<string, Map<string, number>>();
    for (const { key, orders } of counts.items) {
        const [first = "", status = ""] = key;
        const group = groups.get(first) ?? new Map<string, number>();
        group.set(status, (group.get(status) ?? 0) + orders);
        groups.set(first, group);
    }
    const rank = (status: string) => LIVE.findIndex((one) => one === status);
    return [...groups]
        .map(([key, statuses]) => ({
            key,
            orders: [...statuses.values()].reduce((sum, orders) => sum + orders, 0),
            statuses: [...statuses].map(([status, orders]) => ({ status, orders })).sort((one, other) => rank(one.status) - rank(other.status)),
        }))
        .sort((one, other) => other.orders - one.orders || one.key.localeCompare(other.key));
}
