// Flows in trouble and the slowest ones, and on request systems in trouble and orders in jeopardy: one request at a time.

import type { ComponentChildren } from "preact";
import { read, type Schemas } from "../../api/client";
import { useResource, type Shown } from "../../api/resource";
import { to } from "../../app/router";
import { number, rate } from "../../app/time";
import { Badge } from "../../parts/badge";
import { Choice } from "../../parts/choice";
import { Age, Duration, Time } from "../../parts/moment";
import { Panel } from "../../parts/panel";
import { Said } from "../../parts/said";
import { Table, type Column } from "../../parts/table";
import { text } from "../../text/overview";
import { flowTrouble, readyOf, slowdown, slowest, standsSince, systemTrouble, troubled } from "./trouble";

type Flow = Schemas["FlowView"];
type System = Schemas["SystemView"];

export const TROUBLES = ["flows", "systems", "orders"] as const;
export type Trouble = (typeof TROUBLES)[number];

/** Lines of the panel; the pages behind it have all. */
const MOST = 8;

export function TroublePanel({ kind, flows }: { kind: Trouble; flows: Shown<Schemas["PageOfFlowView"]> }) {
    const tools = (
        <Choice
            label={text("trouble_kind")}
            name="trouble"
            chosen={kind}
            usual="flows"
            options={TROUBLES.map((value) => ({ value, text: text(`trouble_${value}`) }))}
        />
    );
    if (kind === "systems") return <SystemsInTrouble tools={tools} />;
    if (kind === "orders") return <OrdersInJeopardy tools={tools} />;
    return <FlowsInTrouble tools={tools} resource={flows} />;
}

/** A note on flows that are not looked at, since the list has more pages than this panel asks for. */
function Cut({ page }: { page: Schemas["PageOfFlowView"] }) {
    if (!page.next) return null;
    return (
        <p class="note">
            {text("flows_cut", { n: page.items.length })} <a href="/flows?state=stopped">{text("flows_cut_link")}</a>
        </p>
    );
}

/** Why the state or the limit changed last. */
function Why({ decisions }: { decisions: readonly Schemas["Decision"][] }) {
    const last = decisions.at(-1)?.why;
    return last ? (
        <span title={last}>
            <Said text={last} />
        </span>
    ) : null;
}

function Standing({ since }: { since: string | null | undefined }) {
    return since ? <Age at={since} /> : null;
}

function FlowsInTrouble({ tools, resource }: { tools: ComponentChildren; resource: Shown<Schemas["PageOfFlowView"]> }) {
    const columns: Column<Flow>[] = [
        { key: "flow", name: text("flow"), head: true, cell: (row) => <a href={to("flows", row.flow)}>{row.flow}</a> },
        { key: "state", name: text("state"), cell: (row) => <Badge word={row.state} /> },
        { key: "since", name: text("stopped_for"), cell: (row) => <Standing since={standsSince(row)} /> },
        { key: "ready", name: text("ready"), number: true, cell: (row) => number(readyOf(row)) },
        { key: "why", name: text("last_decision"), wide: true, cell: (row) => <Why decisions={row.decisions} /> },
    ];
    return (
        <Panel title={text("trouble")} tools={tools} resource={resource}>
            {(page) => {
                const rows = troubled(page.items, flowTrouble, readyOf).slice(0, MOST);
                return (
                    <>
                        <Cut page={page} />
                        {rows.length > 0 ? (
                            <Table caption={text("trouble")} columns={columns} rows={rows} keyOf={(row) => row.flow} />
                        ) : (
                            !page.next && resource.state === "fresh" && <div class="nothing good-text">{text("flows_fine")}</div>
                        )}
                    </>
                );
            }}
        </Panel>
    );
}

function SystemsInTrouble({ tools }: { tools: ComponentChildren }) {
    const resource = useResource(read("/v1/systems"));
    const columns: Column<System>[] = [
        { key: "system", name: text("system"), head: true, cell: (row) => <a href={to("systems", row.system)}>{row.system}</a> },
        { key: "state", name: text("state"), cell: (row) => <Badge word={row.state} /> },
        { key: "since", name: text("stopped_for"), cell: (row) => <Standing since={row.stoppedSince} /> },
        { key: "p99", name: text("p99"), number: true, cell: (row) => <Duration ms={row.shortTerm.p99Ms} /> },
        { key: "why", name: text("last_decision"), wide: true, cell: (row) => <Why decisions={row.decisions} /> },
    ];
    const rowsOf = (page: Schemas["PageOfSystemView"]) => troubled(page.items, systemTrouble, (system) => system.inProgress).slice(0, MOST);
    return (
        <Panel title={text("trouble")} tools={tools} resource={resource} empty={(page) => rowsOf(page).length === 0 && !page.next} emptyText={text("systems_fine")}>
            {(page) => <Table caption={text("trouble")} columns={columns} rows={rowsOf(page)} keyOf={(row) => row.system} />}
        </Panel>
    );
}

function OrdersInJeopardy({ tools }: { tools: ComponentChildren }) {
    const resource = useResource(read("/v1/orders", {}, { jeopardy: true, limit: MOST }));
    const columns: Column<Schemas["OrderLine"]>[] = [
        { key: "id", name: text("order"), head: true, cell: (row) => <a href={to("orders", row.id)}>{row.id}</a> },
        { key: "status", name: text("state"), cell: (row) => <Badge word={row.status} /> },
        { key: "scenario", name: text("scenario"), cell: (row) => row.scenario },
        { key: "created", name: text("registered"), cell: (row) => <Time at={row.createdAt} /> },
    ];
    return (
        <Panel title={text("trouble")} tools={tools} resource={resource} empty={(page) => page.items.length === 0 && !page.next} emptyText={text("promise_fine")}>
            {(page) => (
                <>
                    <p class="faint">
                        {text("promise_intro")} <a href="/orders?jeopardy=true">{text("promise_more")}</a>
                    </p>
                    <Table caption={text("trouble")} columns={columns} rows={page.items} keyOf={(row) => row.id} />
                </>
            )}
        </Panel>
    );
}

export function SlowestFlows({ resource }: { resource: Shown<Schemas["PageOfFlowView"]> }) {
    const columns: Column<Flow>[] = [
        { key: "flow", name: text("flow"), head: true, cell: (row) => <a href={to("flows", row.flow)}>{row.flow}</a> },
        { key: "p50", name: text("p50"), number: true, cell: (row) => <Duration ms={row.shortTerm.p50Ms} /> },
        { key: "p99", name: text("p99"), number: true, cell: (row) => <Duration ms={row.shortTerm.p99Ms} /> },
        { key: "slower", name: text("slower_name"), number: true, cell: (row) => <Slowdown flow={row} /> },
        { key: "rate", name: text("stages"), number: true, cell: (row) => text("per_second", { rate: rate(row.throughput) }) },
    ];
    return (
        <Panel title={text("slowest_title")} resource={resource} empty={(page) => slowest(page.items, 1).length === 0} emptyText={text("slowest_empty")}>
            {(page) => (
                <>
                    <Cut page={page} />
                    <Table caption={text("slowest_title")} columns={columns} rows={slowest(page.items, MOST)} keyOf={(row) => row.flow} />
                </>
            )}
        </Panel>
    );
}

function Slowdown({ flow }: { flow: Flow }) {
    const factor = slowdown(flow);
    if (factor === undefined) return null;
    return <span class={factor >= 2 ? "warn-text" : "soft"} title={text("slower_hint")}>{text("slower", { factor: number(factor, factor < 10 ? 1 : 0) })}</span>;
}
