// Lists whose answer is an array, and whose header `Link` names the next page.

import { send, type Read } from "./client";
import { useResource, type Options, type Shown } from "./resource";

/** A page of a list. */
export interface Listing<R> {
    readonly rows: readonly R[];
    /** Address of the next page, if there is one. */
    readonly next: string | undefined;
}

/** Address that a header `Link` names as the next page, resolved against the one that was asked. */
export function nextOf(link: string | null, url: string): string | undefined {
    for (const [, target = "", rest = ""] of (link ?? "").matchAll(/<([^>]*)>([^<]*)/g)) {
        if (!/;\s*rel="?next"?/i.test(rest)) continue;
        const next = new URL(target, new URL(url, "http://localhost"));
        return next.pathname + next.search;
    }
    return undefined;
}

async function loadListing<R>(request: Read<Listing<R>>, signal?: AbortSignal): Promise<Listing<R>> {
    const response = await send(request, signal);
    return { rows: (await response.json()) as R[], next: nextOf(response.headers.get("link"), request.url) };
}

/** A page of a list, kept current as a resource is. */
export function useListing<R>(request: Read<R[]> | null, options: Options<Listing<R>> = {}): Shown<Listing<R>> {
    return useResource<Listing<R>>(request && { method: "GET", url: request.url }, options, loadListing);
}

/**
 * Start of the last page of a list whose rows are numbered without gaps, by asking whether there is anything behind a number:
 * the answer is a multiple of `size`. A list of 20 000 rows is asked about 16 times.
 */
export async function lastStart(size: number, behind: (number: number) => Promise<boolean>): Promise<number> {
    let low = 0;
    let high = 1;
    while (await behind(high * size)) {
        low = high;
        high *= 2;
    }
    while (high - low > 1) {
        const middle = Math.floor((low + high) / 2);
        if (await behind(middle * size)) low = middle;
        else high = middle;
    }
    return low * size;
}
