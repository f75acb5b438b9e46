// A new order: typed from nothing, or filled from another one (`?clone=ID`).

import { useMemo } from "preact/hooks";
import { read, type Schemas } from "../api/client";
import { useResource } from "../api/resource";
import { query } from "../app/router";
import { zoneChoice } from "../app/time";
import { newOrder as text } from "../text/new-order";
import { Page } from "../parts/page";
import { Panel } from "../parts/panel";
import { draftOf, emptyDraft, passedOf } from "./new-order/body";
import { OrderForm, newId } from "./new-order/form";
import "../style/new-order.css";

export default function NewOrder() {
    const clone = query.value.get("clone") ?? undefined;
    const scenarios = useResource(read("/v1/scenarios", {}, { limit: 1000 }), { every: 0 });
    return (
        <Page
            title={clone ? text("clone_title", { id: clone }) : text("title")}
            lead={text(clone ? "lead_clone" : "lead")}
            request={clone ? read("/v1/orders/{id}", { id: clone }) : scenarios.request}
            command={clone ? ["order", "clone", clone] : ["scenario", "list"]}
        >
            <Panel bare resource={scenarios}>
                {(page) => {
                    const names = page.items.map((one) => one.scenario);
                    return clone ? <CloneForm key={clone} id={clone} scenarios={names} /> : <EmptyForm scenarios={names} />;
                }}
            </Panel>
        </Page>
    );
}

function EmptyForm({ scenarios }: { scenarios: readonly string[] }) {
    const begin = useMemo(() => emptyDraft(newId(), query.value.get("scenario") ?? (scenarios.length === 1 ? (scenarios[0] ?? "") : "")), []);
    return <OrderForm scenarios={scenarios} begin={begin} params={{}} />;
}

function CloneForm({ id, scenarios }: { id: string; scenarios: readonly string[] }) {
    const order = useResource(read("/v1/orders/{id}", { id }), { every: 0 });
    return (
        <Panel bare resource={order}>
            {(found) => <FilledForm order={found} scenarios={scenarios} />}
        </Panel>
    );
}

/** What the server writes in place of what is masked. */
const MASKED = "***";

function FilledForm({ order, scenarios }: { order: Schemas["OrderView"]; scenarios: readonly string[] }) {
    // The form is filled once: what comes later would take away what was typed.
    const begin = useMemo(() => draftOf(order, newId(), zoneChoice.value === "utc", Date.now()), []);
    const params = useMemo(() => (order.params ?? {}) as Record<string, unknown>, []);
    const passed = passedOf(order, Date.now());
    return (
        <>
            {passed.length > 0 && <p class="note">{text("clone_passed", { names: passed.join(", ") })}</p>}
            {JSON.stringify(params).includes(MASKED) && <p class="note">{text("masked")}</p>}
            <OrderForm scenarios={scenarios} begin={begin} params={params} clone={order.id} />
        </>
    );
}
