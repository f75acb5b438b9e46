// Values that the query bar completes from: lists of the engine, each asked for when it is first needed.

import { signal } from "@preact/signals";
import { json, read, type Read } from "../../api/client";
import type { Source } from "./conditions";
import type { KnownValues } from "./complete";

/** How long a list is good enough to complete from, in ms. */
const GOOD_FOR = 60_000;

export const known = signal<KnownValues>({});
const askedAt = new Map<Source, number>();

async function namesOf<T>(request: Read<T>, names: (answer: T) => readonly string[]): Promise<string[]> {
    return [...new Set(names(await json(request)))].filter((name) => name !== "");
}

const counted = (by: string) => namesOf(read("/v1/counts", {}, { by, createdSince: "1d" }), ({ items }) => items.map((item) => item.key[0] ?? ""));

const LISTS: Record<Source, () => Promise<string[]>> = {
    scenario: () => namesOf(read("/v1/scenarios", {}, { limit: 1000 }), ({ items }) => items.map((item) => item.scenario)),
    flow: () => namesOf(read("/v1/flows", {}, { limit: 500 }), ({ items }) => items.map((item) => item.flow)),
    system: () => namesOf(read("/v1/systems"), ({ items }) => items.map((item) => item.system)),
    node: () => namesOf(read("/v1/nodes"), ({ items }) => items.map((item) => item.name)),
    queue: () => namesOf(read("/v1/queues", {}, { limit: 500 }), ({ items }) => items.map((item) => item.queue)),
    saved: () => namesOf(read("/v1/searches", {}, { limit: 1000 }), ({ items }) => items.map((item) => item.name)),
    class: () => counted("class"),
    state: () => counted("state"),
};

/** Asks for a list, if it is not known or old. A list that fails completes nothing, and is asked for again later. */
export async function want(source: Source): Promise<void> {
    const last = askedAt.get(source);
    if (last !== undefined && Date.now() - last < GOOD_FOR) return;
    askedAt.set(source, Date.now());
    try {
        const values = await LISTS[source]();
        known.value = { ...known.value, [source]: values };
    } catch {
        askedAt.delete(source);
    }
}
