// Order of flows and systems in lists: what stands still comes first. No DOM.

const RANKS: Record<string, number> = {
    stopped: 0,
    kept_stopped: 0,
    disabled_manually: 1,
    probing: 2,
    recovering: 3,
    failing: 4,
    slowing: 5,
    limited: 6,
};

/** How far up a state stands in a list. */
export function rankOf(state: string): number {
    return RANKS[state] ?? 9;
}

/** The same, those that stand still first; of one state by name, so that rows keep their place while figures move. */
export function stoppedFirst<T extends { state: string }>(all: readonly T[], nameOf: (one: T) => string): T[] {
    return [...all].sort((one, other) => rankOf(one.state) - rankOf(other.state) || nameOf(one).localeCompare(nameOf(other)));
}

/** A keyword of a stop against the name of a flow, as the engine takes it. */
export function isHit(keyword: string, flow: string): boolean {
    return flow.includes(keyword);
}
