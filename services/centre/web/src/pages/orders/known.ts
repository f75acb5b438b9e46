// Values that the query bar completes from: lists of the engine, each asked for when it is first needed.

import { signal } from "@preact/signals";
import { json, read, send, type Read } from "../../api/client";
import { EXAMINED } from "../../api/examined";
import type { Source } from "./conditions";
import type { KnownValues } from "./complete";

/** How long a list is good enough to complete from, in ms. */
const GOOD_FOR = 60_000;

export const known = signal<KnownValues>({});
const askedAt = new Map<Source, number>();

async function namesOf<T>(request: Read<T>, names: (answer: T) => readonly string[]): Promise<string[]> {
    return [...new Set(names(await json(request)))].filter((name) => name !== "");
}

const counted = (by: string) => namesOf(read("/v1/counts", {}, { by, createdSince: "1d", examine: EXAMINED }), ({ items }) => items.map((item) => item.key[0] ?? ""));

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

let paramsOf: string | undefined;

/** Asks for the paths of a scenario's parameters. The reader of its text is loaded only for this. */
export async function wantParams(scenario: string): Promise<void> {
    if (paramsOf === scenario) return;
    paramsOf = scenario;
    known.value = { ...known.value, params: [] };
    try {
        const [response, { paramPaths }] = await Promise.all([send(read("/v1/scenarios/{name}", { name: scenario })), import("../new-order/schema")]);
        const { yamlValue } = await import("../../api/yaml");
        const source = yamlValue(await response.text()) as { params?: unknown } | null;
        if (paramsOf === scenario) known.value = { ...known.value, params: paramPaths(source?.params) };
    } catch {
        paramsOf = undefined;
    }
}

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
