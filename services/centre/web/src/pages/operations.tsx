// Bulk operations, with the progress of each.

import { read } from "../api/client";
import { useResource } from "../api/resource";
import { query, to, toWith } from "../app/router";
import { common } from "../text/common";
import { operations as text } from "../text/operations";
import { Time } from "../parts/moment";
import { Page } from "../parts/page";
import { Panel } from "../parts/panel";
import { Pager, Table, type Column } from "../parts/table";
import { Orders, Outcome, Progress, whoOf, type Operation } from "./operations/view";

const STATES = ["running", "paused", "done", "aborted"] as const;

const COLUMNS = (): Column<Operation>[] => [
    { key: "no", name: text("no"), head: true, cell: (row) => <a href={to("operations", String(row.no))}>{row.no}</a> },
    { key: "action", name: text("action"), cell: (row) => <code>{row.action}</code> },
    { key: "state", name: text("state"), cell: (row) => <Outcome word={row.state} /> },
    { key: "progress", name: text("progress"), cell: (row) => <Progress operation={row} /> },
    { key: "skipped", name: text("outcome_skipped"), number: true, cell: (row) => <Count row={row} outcome="skipped" /> },
    { key: "failed", name: text("outcome_failed"), number: true, cell: (row) => <Count row={row} outcome="failed" /> },
    { key: "begun", name: text("begun"), cell: (row) => <Time at={row.madeAt} /> },
    { key: "by", name: text("by"), cell: (row) => whoOf(row.by) },
    { key: "orders", name: text("conditions"), wide: true, cell: (row) => <Orders operation={row} /> },
];

function Count({ row, outcome }: { row: Operation; outcome: "skipped" | "failed" }) {
    const count = row[outcome];
    return count > 0 ? <a href={toWith(`operations/${row.no}`, { outcome })}>{count}</a> : <span class="faint">{count}</span>;
}

export default function Operations() {
    const state = query.value.get("state");
    const cursor = query.value.get("cursor");
    const page = useResource(read("/v1/operations", {}, { state, cursor, limit: 50 }));
    return (
        <Page title={text("title")} lead={text("lead")} request={page.request} command={["operation", "list", ...(state ? ["--state", state] : [])]}>
            <nav class="chips" aria-label={text("states")}>
                <a class="chip" href="/operations" aria-current={state ? undefined : "true"}>
                    {common("all")}
                </a>
                {STATES.map((one) => (
                    <a key={one} class="chip" href={toWith("operations", { state: one })} aria-current={state === one ? "true" : undefined}>
                        <Outcome word={one} />
                    </a>
                ))}
            </nav>
            <Panel resource={page} empty={(found) => found.items.length === 0} emptyText={text("empty")}>
                {(found) => (
                    <>
                        <Table caption={text("title")} columns={COLUMNS()} rows={found.items} keyOf={(row) => row.no} />
                        <Pager next={found.next} at={cursor} />
                    </>
                )}
            </Panel>
        </Page>
    );
}
