// Variables and result of the end of a trial. The server tells them to those who expect something else, so that a trial is run a
// second time with an expectation that nothing meets.

import type { Tried } from "./story";
import type { Trial } from "./trial";

/** A text that no scenario sets. */
const UNLIKELY = "\u2047 what is it";

export interface Ending {
    readonly vars?: Record<string, unknown>;
    readonly result?: unknown;
}

/** The trial that asks for the ending of another. */
export function asking(trial: Trial): Trial {
    return { ...trial, expect: { vars: UNLIKELY, result: UNLIKELY } };
}

/** The ending that the faults of such a trial tell. */
export function endingOf(tried: Tried | undefined): Ending {
    const ending: Record<string, unknown> = {};
    for (const { message } of tried?.faults ?? []) {
        const found = /^(vars|result): expected `.*?`, but it is `(.*)`$/s.exec(message);
        if (!found) continue;
        try {
            ending[found[1] ?? ""] = JSON.parse(found[2] ?? "");
        } catch {
            // A form that is not known is nothing that can be shown.
        }
    }
    return ending;
}
