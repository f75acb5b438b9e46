// Scenarios by name, with what lives of them.

import { read, type Schemas } from "../api/client";
import { useResource, type Shown } from "../api/resource";
import { query, to, toWith } from "../app/router";
import { number } from "../app/time";
import { Time } from "../parts/moment";
import { Page } from "../parts/page";
import { Panel } from "../parts/panel";
import { Pager, Table, type Column } from "../parts/table";
import { reasonText } from "../text/reason";
import { scenarios as text } from "../text/scenarios";
import { byScenario, grouped, LIVE, type Counts, type Group } from "./scenarios/live";
import { Statuses } from "./scenarios/statuses";

type Line = Schemas["ScenarioLine"];

export default function Scenarios() {
    const cursor = query.value.get("cursor");
    const list = useResource(read("/v1/scenarios", {}, { cursor, limit: 100 }));
    const counts = useResource(byScenario());
    const groups = new Map((counts.data ? grouped(counts.data) : []).map((group) => [group.key, group]));
    return (
        <Page
            title={text("list")}
            lead={text("lead")}
            tools={
                <a class="button primary" href="/workbench">
                    {text("write")}
                </a>
            }
            request={list.request}
            command={["scenario", "list"]}
        >
            <Panel resource={list} empty={(data) => data.items.length === 0 && !cursor} emptyText={<Empty />}>
                {(data) => (
                    <>
                        <CountsNote counts={counts} />
                        <Table caption={text("list")} columns={columns(groups, counts.data?.complete !== true || counts.state === "failed")} rows={data.items} keyOf={(row) => row.scenario} />
                        <Pager next={data.next} at={cursor} />
                    </>
                )}
            </Panel>
        </Page>
    );
}

/** What is wrong with the figures: a list without them would look as if nothing lived. */
function CountsNote({ counts }: { counts: Shown<Counts> }) {
    const failure = counts.known.value.failure;
    if (failure)
        return (
            <p class="problem" role="alert">
                {text(counts.data ? "counts_old" : "counts_failed", { reason: reasonText(failure) })}
            </p>
        );
    return counts.data?.complete === false ? <p class="note">{text("counts_partial")}</p> : null;
}

function Empty() {
    return <a href="/workbench">{text("none")}</a>;
}

function columns(groups: ReadonlyMap<string, Group>, unknown: boolean): Column<Line>[] {
    return [
        { key: "name", name: text("name"), head: true, cell: (row) => <a href={to("scenarios", row.scenario)}>{row.scenario}</a> },
        { key: "version", name: text("version"), number: true, cell: (row) => row.version },
        { key: "applied", name: text("applied"), cell: (row) => <Time at={row.createdAt} /> },
        { key: "live", name: text("live"), number: true, cell: (row) => <Live name={row.scenario} group={groups.get(row.scenario)} unknown={unknown} /> },
        { key: "status", name: text("status"), cell: (row) => <ByStatus name={row.scenario} group={groups.get(row.scenario)} /> },
        { key: "workbench", name: text("workbench"), cell: (row) => <a href={to("workbench", row.scenario)}>{text("open_workbench")}</a> },
    ];
}

/** Nothing that is not known looks like zero. */
function Live({ name, group, unknown }: { name: string; group: Group | undefined; unknown: boolean }) {
    if (unknown && !group) return <span class="faint">…</span>;
    return <a href={toWith("orders", { scenario: name, status: LIVE.join(",") })}>{number(group?.orders ?? 0)}</a>;
}

function ByStatus({ name, group }: { name: string; group: Group | undefined }) {
    return group ? <Statuses group={group} query={{ scenario: name }} /> : null;
}
