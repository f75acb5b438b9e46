// Opens what the address names on a bench: the newest version of a scenario, the version of an order with its answers, a template.

import { json, pathOf, queryText, read, send } from "../../api/client";
import type { Base, Bench } from "./bench";
import { trialOf } from "./recorded";
import { TEMPLATES, type TemplateName } from "./templates";

/** Loads a stored version, with its tag; the newest one where none is named. */
export async function loadBase(name: string, version?: number | null): Promise<Base> {
    const answer = await send({ method: "GET", url: pathOf("/v1/scenarios/{name}", { name }) + queryText({ version }) });
    const tag = answer.headers.get("etag") ?? "";
    return { name, version: Number(/\d+/.exec(tag)?.[0] ?? version ?? 0), tag, text: await answer.text() };
}

export interface Wanted {
    readonly name: string | undefined;
    readonly order: string | null;
    readonly version: string | null;
    readonly template: TemplateName;
}

export async function openWanted(bench: Bench, { name, order, version, template }: Wanted): Promise<void> {
    if (order !== null) return openOrder(bench, order);
    if (name === undefined) return bench.open(TEMPLATES[template], undefined, []);
    const base = await loadBase(name, version === null ? null : Number(version));
    return bench.open(base.text, base, []);
}

async function openOrder(bench: Bench, id: string): Promise<void> {
    const [order, steps, callbacks] = await Promise.all([
        json(read("/v1/orders/{id}", { id })),
        json(read("/v1/orders/{id}/steps", { id })),
        json(read("/v1/orders/{id}/callbacks", { id })),
    ]);
    const base = await loadBase(order.scenario, order.scenarioVersion);
    bench.recorded.value = id;
    bench.open(base.text, base, [trialOf({ order, steps, callbacks })]);
}
