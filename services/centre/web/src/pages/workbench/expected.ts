// What happened in a trial, as what is expected of the next.

import { pathOf, type Step, type Tried } from "./story";

/** Expectations that a story meets: its end, its path, its requests, its time. */
export function expectationOf(tried: Tried, steps: readonly Step[]): Record<string, unknown> {
    const end = steps.findLast((step) => step.ended !== undefined);
    return {
        ...(end ? { status: end.ended } : {}),
        path: pathOf(steps),
        requests: steps.flatMap((step) => step.asked ?? []),
        ...(end ? { duration: tried.duration } : {}),
    };
}
