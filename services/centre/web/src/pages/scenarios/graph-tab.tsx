// The workflow as a picture, with the live orders in their states.

import { read, type ApiRequest } from "../../api/client";
import { EXAMINED } from "../../api/examined";
import { useResource } from "../../api/resource";
import { go, toWith } from "../../app/router";
import { number } from "../../app/time";
import { Graph } from "../../parts/graph";
import { Panel } from "../../parts/panel";
import { Table, type Column } from "../../parts/table";
import { scenarios as text } from "../../text/scenarios";
import { byState, grouped, LIVE, type Counts, type Group } from "./live";
import { Statuses } from "./statuses";
import "../../style/workbench.css";

export function GraphTab({ name, version }: { name: string; version: number }) {
    const counts = useResource(byState(name, version, EXAMINED));
    const groups = counts.data ? grouped(counts.data) : [];
    // Figures of the past at states would pass for those of now.
    const figures = new Map(counts.state === "fresh" ? groups.filter((group) => group.key !== "").map((group) => [group.key, number(group.orders)]) : []);
    const query = { scenario: name, scenarioVersion: version };
    const request: ApiRequest = read("/v1/scenarios/{name}/graph", { name }, { version });
    return (
        <div class="columns graph-and-list">
            <section class="panel" aria-label={text("tab_graph")}>
                <Graph
                    label={text("graph_label", { name, version })}
                    request={request}
                    figures={figures}
                    onState={(state) => go(toWith("orders", { ...query, state, status: LIVE.join(",") }))}
                />
                <p class="hint">{text("graph_hint")}</p>
            </section>
            <Panel title={text("live_by_state")} resource={counts} empty={(data) => data.complete && data.items.length === 0} emptyText={text("live_none")}>
                {(data) => (
                    <>
                        <Partial counts={data} />
                        <Table caption={text("live")} columns={columns(query)} rows={groups} keyOf={(group) => group.key} />
                    </>
                )}
            </Panel>
        </div>
    );
}

function Partial({ counts }: { counts: Counts }) {
    return counts.complete ? null : <p class="note">{text("counts_partial")}</p>;
}

function columns(query: { scenario: string; scenarioVersion: number }): Column<Group>[] {
    return [
        {
            key: "state",
            name: text("state"),
            head: true,
            cell: (group) => (group.key === "" ? <span class="soft">{text("no_state")}</span> : <a href={toWith("orders", { ...query, state: group.key, status: LIVE.join(",") })}>{group.key}</a>),
        },
        { key: "orders", name: text("orders"), number: true, cell: (group) => number(group.orders) },
        { key: "status", name: text("status"), cell: (group) => <Statuses group={group} query={group.key === "" ? query : { ...query, state: group.key }} /> },
    ];
}
