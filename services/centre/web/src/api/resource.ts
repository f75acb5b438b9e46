// Data that a panel shows, with its age: it is asked for again while the page is seen, and what failed or is old says so.

import { useEffect, useMemo } from "preact/hooks";
import { signal, type ReadonlySignal } from "@preact/signals";
import { Failure, json, type Read } from "./client";
import { onChange, type Follow, type OrderEvent } from "./live";
import { now, whileSeen } from "../app/clock";

/** What is known of an answer. Times are milliseconds of the browser's clock. */
export interface Known<T> {
    readonly data: T | undefined;
    /** Time of the last good answer. */
    readonly at: number | undefined;
    readonly failure: Failure | undefined;
}

/** State of a panel: `waiting` for its first answer, `fresh`, `old` since its last one, or `failed` without any. */
export type Freshness = "waiting" | "fresh" | "old" | "failed";

/** How late an answer may be before what is shown counts as old. */
const GRACE = 5_000;
/** How young an answer is that need not be asked for again when a page starts to poll, in ms. */
const JUST_NOW = 2_000;
/** How long a stream of events may take to open before its page is loaded without it, in ms. */
const STREAM_PATIENCE = 400;

/** Data with what an event says of it; the same data if the event says nothing new. It is the same function over the life of a resource. */
export type Amend<T> = (data: T, event: OrderEvent) => T;

export interface Options<T> {
    /** Interval of asking again, in ms; left out: 5 s. `0`: only by events and by hand. */
    readonly every?: number;
    /** Events after which it is asked for at once. */
    readonly follow?: Follow;
    /** Shows what an event says until the answer is here that it is asked for again for. */
    readonly amend?: Amend<T>;
}

/** How an answer is read. It is the same function over the life of a resource. */
export type Load<T> = (request: Read<T>, signal: AbortSignal) => Promise<T>;

export class Resource<T> {
    readonly known = signal<Known<T>>({ data: undefined, at: undefined, failure: undefined });
    private asking: AbortController | undefined;
    private again = false;
    /** Last event of each order since the request under way was sent: its answer may be older. */
    private readonly heard = new Map<string, OrderEvent>();

    constructor(
        readonly request: Read<T>,
        private readonly load: Load<T> = json,
        private readonly amend: Amend<T> = (data) => data,
    ) {}

    /** Asks. While one request is under way, another is sent once it has been answered, and never two at a time. */
    async ask(): Promise<void> {
        if (this.asking) {
            this.again = true;
            return;
        }
        const asking = new AbortController();
        this.asking = asking;
        this.heard.clear();
        try {
            const answer = await this.load(this.request, asking.signal);
            const data = this.amended(answer);
            this.known.value = { data, at: Date.now(), failure: undefined };
        } catch (error) {
            if (asking.signal.aborted) return;
            const failure = error instanceof Failure ? error : new Failure(0, { detail: String(error) });
            this.known.value = { ...this.known.value, failure };
        } finally {
            this.asking = undefined;
        }
        if (this.again) {
            this.again = false;
            await this.ask();
        }
    }

    /** Shows what an event says, before what it asks for is answered. */
    hear(event: OrderEvent): void {
        if (this.asking) this.heard.set(event.order, event);
        const known = this.known.peek();
        if (known.data === undefined) return;
        const data = this.amend(known.data, event);
        if (data !== known.data) this.known.value = { ...known, data };
    }

    private amended(data: T): T {
        return [...this.heard.values()].reduce(this.amend, data);
    }

    stop(): void {
        this.again = false;
        this.asking?.abort();
    }
}

/** State of what is known at a time. */
export function freshness(known: Known<unknown>, every: number, at: number): Freshness {
    if (known.at === undefined) return known.failure ? "failed" : "waiting";
    if (known.failure) return "old";
    return every > 0 && at - known.at > every + GRACE ? "old" : "fresh";
}

/** Handle of a resource for the panels of a page. */
export interface Shown<T> {
    readonly known: ReadonlySignal<Known<T>>;
    readonly request: Read<T>;
    readonly data: T | undefined;
    readonly state: Freshness;
    readonly refresh: () => Promise<void>;
}

/** The resource of a request, kept current while the component stands and the page is seen. `null` asks for nothing. */
export function useResource<T>(request: Read<T> | null, options: Options<T> = {}, load: Load<T> = json): Shown<T> {
    const every = options.every ?? 5_000;
    const url = request?.url;
    const follow = options.follow ? JSON.stringify(options.follow) : undefined;
    const resource = useMemo(() => new Resource<T>(request ?? { method: "GET", url: "" }, load, options.amend), [url, load]);
    useEffect(() => {
        if (url === undefined) return undefined;
        const events = follow ? (JSON.parse(follow) as Follow) : undefined;
        const ask = () => void resource.ask();
        const stopFollowing = events ? onChange(events, ask, (event) => resource.hear(event)) : undefined;
        // What follows events is asked for as soon as they can be heard, so that none falls between answer and stream. Another
        // interval is no reason to ask again at once.
        const first = () => {
            if (Date.now() - (resource.known.peek().at ?? 0) > JUST_NOW) ask();
        };
        const stopAsking = whileSeen(every, ask, first, events ? STREAM_PATIENCE : 0);
        return () => {
            stopAsking();
            stopFollowing?.();
            resource.stop();
        };
    }, [resource, url, every, follow]);
    const known = resource.known.value;
    return {
        known: resource.known,
        request: resource.request,
        data: known.data,
        state: freshness(known, every, now.value),
        refresh: () => resource.ask(),
    };
}
