// The way that an order took through its workflow, as marks of the graph.

import type { Order } from "./permitted";

interface Marks {
    /** Classes of states. */
    readonly states: ReadonlyMap<string, string>;
    /** Number of the visits of states that were visited more than once. */
    readonly visits: ReadonlyMap<string, string>;
    /** Transitions that were taken, as `from event to`. */
    readonly taken: ReadonlySet<string>;
}

type Walked = Pick<Order, "status" | "step" | "life" | "error"> & {
    readonly transitions: readonly Pick<Order["transitions"][number], "from" | "event" | "to" | "life">[];
};

/** Marks of the present life: a former one went its own way, which its transitions tell. */
export function marksOf(order: Walked): Marks {
    const states = new Map<string, string>();
    const visits = new Map<string, number>();
    const taken = new Set<string>();
    const visit = (state: string) => {
        states.set(state, "passed");
        visits.set(state, (visits.get(state) ?? 0) + 1);
    };
    const moves = order.transitions.filter((one) => one.life === order.life);
    for (const [index, { from, event, to }] of moves.entries()) {
        taken.add(`${from} ${event} ${to}`);
        if (index === 0 || moves[index - 1]?.to !== from) visit(from);
        visit(to);
    }
    if (order.step) states.set(order.step, order.status === "fail" || order.status === "retry" ? "present failed" : "present");
    const often = [...visits].filter(([, count]) => count > 1).map(([state, count]) => [state, `×${count}`] as const);
    return { states, visits: new Map(often), taken };
}

/** States that an order has been in, in the order of their first visit. */
export function visited(order: Pick<Walked, "step" | "transitions">): string[] {
    const all = order.transitions.flatMap(({ from, to }) => [from, to]);
    return [...new Set(order.step ? [...all, order.step] : all)];
}
