// What is in trouble, and how much: the order in which people should look.

import type { Schemas } from "../../api/client";

type Flow = Schemas["FlowView"];
type System = Schemas["SystemView"];

const FLOW_RANKS: Record<string, number> = { stopped: 5, disabled_manually: 4, probing: 3, limited: 1, enabled: 0 };
const SYSTEM_RANKS: Record<string, number> = { stopped: 5, failing: 4, probing: 3, recovering: 2, slowing: 1, healthy: 0 };

/** A flow is in trouble if it does not go on, or if stages of it wait for its limit. */
export function flowTrouble(flow: Pick<Flow, "state" | "atLimit">): number {
    const rank = FLOW_RANKS[flow.state] ?? 2;
    return rank > 1 ? rank : flow.atLimit ? 2 : 0;
}

/** A system is in trouble in any state but the one without a limit and without failures. */
export function systemTrouble(system: Pick<System, "state">): number {
    return SYSTEM_RANKS[system.state] ?? 1;
}

/** Those in trouble, the worst first; of the same trouble those with the most waiting work. */
export function troubled<T>(items: readonly T[], trouble: (item: T) => number, waiting: (item: T) => number): T[] {
    return items.filter((item) => trouble(item) > 0).sort((a, b) => trouble(b) - trouble(a) || waiting(b) - waiting(a));
}

/** Time since which a flow does not go on: a stop by hand is known by the decision that followed it. */
export function standsSince(flow: Pick<Flow, "state" | "atLimit" | "stoppedSince" | "decisions">): string | undefined {
    return flow.stoppedSince ?? (flowTrouble(flow) > 2 ? flow.decisions.at(-1)?.at : undefined);
}

export function readyOf(flow: Pick<Flow, "ready">): number {
    return flow.ready.high + flow.ready.normal + flow.ready.low;
}

/** Flows by the time of their stages, the slowest first. Those of which nothing ended lately are left out. */
export function slowest(flows: readonly Flow[], most: number): Flow[] {
    return flows
        .filter((flow) => typeof flow.shortTerm.p99Ms === "number")
        .sort((a, b) => (b.shortTerm.p99Ms ?? 0) - (a.shortTerm.p99Ms ?? 0))
        .slice(0, most);
}

/** How many times slower than over hours a flow is now; nothing while either is unknown. */
export function slowdown(flow: Pick<Flow, "shortTerm" | "longTerm">): number | undefined {
    const [short, long] = [flow.shortTerm.p50Ms, flow.longTerm.p50Ms];
    return short && long ? short / long : undefined;
}
