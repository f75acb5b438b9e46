// The first tab: what the order is, where it stands in its workflow, and what it did when.

import { useMemo } from "preact/hooks";
import { read } from "../../api/client";
import type { Shown } from "../../api/resource";
import { to } from "../../app/router";
import { Graph } from "../../parts/graph";
import { WhenSeen } from "../../parts/seen";
import { order as text } from "../../text/order";
import { InAndOut } from "./data-tab";
import { FactsPanel } from "./facts-panel";
import { marksOf } from "./path";
import { ended, type Order } from "./permitted";
import { TimeLine } from "./time-line";

export function Overview({ order, shown }: { order: Order; shown: Shown<Order> }) {
    return (
        <>
            <div class="order-columns">
                <div class="stack">
                    <FactsPanel shown={shown} />
                    <InAndOut shown={shown} />
                </div>
                <Workflow order={order} />
            </div>
            <WhenSeen title={text("timeline")} act={text("show")} eager={ended(order)}>
                {() => <TimeLine order={order} />}
            </WhenSeen>
        </>
    );
}

function Workflow({ order }: { order: Order }) {
    // A long history has hundreds of transitions here, and the page is drawn again with each second.
    const { states, visits, taken } = useMemo(() => marksOf(order), [order]);
    const { scenario, scenarioVersion: version } = order;
    return (
        <section class="panel" aria-label={text("graph_title")}>
            <header class="panel-head">
                <h2>{text("graph_title")}</h2>
                <a href={to("scenarios", scenario)}>{`${scenario} @ ${version}`}</a>
            </header>
            <Graph
                label={text("graph", { name: scenario })}
                request={read("/v1/scenarios/{name}/graph", { name: scenario }, { version, format: "svg" })}
                states={states}
                figures={visits}
                taken={taken}
            />
            {order.moreTransitions && <p class="hint">{text("graph_first", { n: order.transitions.length })}</p>}
        </section>
    );
}
