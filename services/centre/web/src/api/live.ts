// Events of orders as they happen: one stream for all that a page follows, open while the page is seen.

import { queryText } from "./client";

/** Orders whose events matter. */
export interface Follow {
    readonly order?: readonly string[];
    readonly scenario?: readonly string[];
    readonly status?: readonly string[];
    readonly transactionId?: readonly string[];
}

/** Shortest time between two signs of change, in ms: a burst of events asks once. */
const PACE = 150;

/** Calls `changed` soon after each event, and after each time that events may have been missed. Returns how to end it. */
export function onChange(follow: Follow, changed: () => void): () => void {
    let stream: EventSource | undefined;
    let timer: number | undefined;
    let last = 0;
    const soon = () => {
        if (timer !== undefined) return;
        timer = window.setTimeout(
            () => {
                timer = undefined;
                last = performance.now();
                changed();
            },
            Math.max(0, last + PACE - performance.now()),
        );
    };
    const url = `/v1/stream${queryText(asQuery(follow))}`;
    const open = () => {
        stream = new EventSource(url);
        for (const name of ["order", "lagged", "open"]) stream.addEventListener(name, soon);
    };
    const look = () => {
        if (document.hidden) {
            stream?.close();
            stream = undefined;
        } else if (!stream) {
            open();
        }
    };
    document.addEventListener("visibilitychange", look);
    look();
    return () => {
        document.removeEventListener("visibilitychange", look);
        window.clearTimeout(timer);
        stream?.close();
    };
}

function asQuery(follow: Follow): Record<string, string | undefined> {
    const list = (values: readonly string[] | undefined) => values?.map((one) => one).join(",");
    return {
        order: list(follow.order),
        scenario: list(follow.scenario),
        status: list(follow.status),
        transactionId: list(follow.transactionId),
    };
}
