// Events of orders as they happen: one stream for all that a page follows, open while the page is seen.

import { queryText } from "./client";

/** Orders whose events matter. */
export interface Follow {
    readonly order?: readonly string[];
    readonly scenario?: readonly string[];
    readonly status?: readonly string[];
    readonly transactionId?: readonly string[];
}

/** What an event says of its order: its status and state at the time at which it was sent. */
export interface OrderEvent {
    readonly order: string;
    /** Time of the event. */
    readonly at: string;
    readonly status: string;
    readonly step?: string;
}

/** Is called when events can be heard from now on or some were left out, without one, and with each event. */
type Listener = (event?: OrderEvent) => void;

/** Shortest time between two signs of change, in ms: a burst of events asks once. An order by itself has few of them. */
const PACE = 150;
const PACE_OF_ONE = 50;

/** Time for which a stream stays open that nobody listens to, in ms: the next panel may follow the same orders. */
const LINGER = 1_000;

interface Stream {
    readonly source: EventSource;
    readonly listeners: Set<Listener>;
}

/** Open streams by address: panels that follow the same orders share one, since a browser has few connections to a server. */
const streams = new Map<string, Stream>();

function opened(url: string): Stream {
    const source = new EventSource(url);
    const stream = { source, listeners: new Set<Listener>() };
    const all = (event?: OrderEvent) => {
        for (const listener of stream.listeners) listener(event);
    };
    source.addEventListener("order", (message) => all(JSON.parse(message.data as string) as OrderEvent));
    // What happened before a stream was open is not sent by it: each listener asks when it opens.
    for (const name of ["lagged", "open"]) source.addEventListener(name, () => all());
    streams.set(url, stream);
    return stream;
}

/** Listens to the stream of an address, which is open as long as somebody does. Returns how to end it. */
function listen(url: string, listener: Listener): () => void {
    const stream = streams.get(url) ?? opened(url);
    stream.listeners.add(listener);
    if (stream.source.readyState === EventSource.OPEN) listener();
    return () => {
        stream.listeners.delete(listener);
        window.setTimeout(() => {
            if (stream.listeners.size > 0 || streams.get(url) !== stream) return;
            stream.source.close();
            streams.delete(url);
        }, LINGER);
    };
}

/** Calls `changed` when events can be heard from now on, and soon after each of them; `heard` with each at once. Returns how to end it. */
export function onChange(follow: Follow, changed: () => void, heard: (event: OrderEvent) => void): () => void {
    let stop: (() => void) | undefined;
    let timer: number | undefined;
    let last = 0;
    const pace = follow.order?.length === 1 ? PACE_OF_ONE : PACE;
    const soon = (event?: OrderEvent) => {
        if (event) heard(event);
        if (timer !== undefined) return;
        timer = window.setTimeout(
            () => {
                timer = undefined;
                last = performance.now();
                changed();
            },
            Math.max(0, last + pace - performance.now()),
        );
    };
    const url = `/v1/stream${queryText(asQuery(follow))}`;
    const look = () => {
        if (document.hidden) {
            stop?.();
            stop = undefined;
        } else {
            stop ??= listen(url, soon);
        }
    };
    document.addEventListener("visibilitychange", look);
    look();
    return () => {
        document.removeEventListener("visibilitychange", look);
        window.clearTimeout(timer);
        stop?.();
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
