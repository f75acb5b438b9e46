// What is changed in a replay, by the address. No DOM.

import type { Schemas } from "../../api/client";

export type Changes = Schemas["FlowChanges"];

export const MODES = ["simple", "rated_flows", "stopped_flows", "limited_flows"] as const;
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
