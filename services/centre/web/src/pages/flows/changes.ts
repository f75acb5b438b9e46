// What is changed in a replay, by the address. No DOM.

import type { Schemas } from "../../api/client";

export type Changes = Schemas["FlowChanges"];

type Mode = NonNullable<Changes["mode"]>;

/** All modes: one that the API knows and this does not is a fault of types. */
const NAMED: Readonly<Record<Mode, true>> = { simple: true, rated_flows: true, stopped_flows: true, limited_flows: true };
export const MODES = Object.keys(NAMED) as Mode[];
const NUMBERS = ["maxLimit", "weight", "load", "callTime", "capacity"] as const;

/** The changes that an address names. What is no number or mode is left out; whether a number makes sense, the engine says. */
export function changesOf(query: URLSearchParams): Changes {
    const changes: Changes = {};
    const mode = MODES.find((one) => one === query.get("mode"));
    if (mode) changes.mode = mode;
    for (const name of NUMBERS) {
        const value = Number(query.get(name) || NaN);
        if (Number.isFinite(value)) changes[name] = value;
    }
    return changes;
}
