// One bulk operation: its orders, how far it is, and their outcomes.

import { read, type Schemas } from "../api/client";
import { useResource } from "../api/resource";
import { query, to, toWith } from "../app/router";
import { common } from "../text/common";
import { operations as text } from "../text/operations";
import { Page } from "../parts/page";
import { Panel } from "../parts/panel";
import { Pager, Table, type Column } from "../parts/table";
import type { PageProps } from "../app/pages";
import { Aftermath, Details, Reasons, Standing } from "./operations/standing";
import { Steering } from "./operations/steering";
import { Outcome } from "./operations/view";

const OUTCOMES = ["done", "open", "skipped", "failed"] as const;

export default function OperationPage({ no = "" }: PageProps) {
    const operation = useResource(read("/v1/operations/{no}", { no }));
    const { data } = operation;
    return (
        <Page
            title={text("title_one", { no })}
            lead={data?.reason}
            tools={data && <Steering operation={data} onDone={() => void operation.refresh()} />}
            request={operation.request}
            command={["operation", "show", no]}
        >
            <div class="columns">
                <div class="stack">
                    <Panel title={text("progress")} resource={operation}>
                        {(found) => <Standing operation={found} fresh={operation.state === "fresh"} />}
                    </Panel>
                    {data?.aftermath && (
                        <Panel title={text("aftermath")} resource={operation}>
                            {(found) => <Aftermath operation={found} />}
                        </Panel>
                    )}
                </div>
                <Panel title={text("detail")} resource={operation}>
                    {(found) => <Details operation={found} />}
                </Panel>
            </div>
            {data?.reasons && data.reasons.length > 0 && (
                <Panel title={text("reasons")} resource={operation}>
                    {(found) => <Reasons reasons={found.reasons ?? []} />}
                </Panel>
            )}
            <Orders no={no} />
        </Page>
    );
}

type Line = Schemas["OperationOrderView"];

const COLUMNS = (): Column<Line>[] => [
    {
        key: "id",
        name: text("order"),
        head: true,
        cell: (row) => (row.id ? <a href={to("orders", row.id)}>{row.id}</a> : <span class="faint">{text("order_removed")}</span>),
    },
    { key: "outcome", name: text("outcome"), cell: (row) => <Outcome word={row.outcome} /> },
    { key: "aftermath", name: text("afterwards"), cell: (row) => <Outcome word={row.aftermath} /> },
    { key: "reason", name: text("reason"), wide: true, cell: (row) => <span title={row.reason ?? ""}>{row.reason}</span> },
];

function Orders({ no }: { no: string }) {
    const outcome = query.value.get("outcome");
    const aftermath = query.value.get("aftermath");
    const cursor = query.value.get("cursor");
    const page = useResource(read("/v1/operations/{no}/orders", { no }, { outcome, aftermath, cursor, limit: 50 }));
    return (
        <Panel
            title={text("orders")}
            resource={page}
            tools={<OutcomeChips no={no} outcome={outcome} aftermath={aftermath} />}
            empty={(found) => found.items.length === 0}
            emptyText={outcome || aftermath ? text("empty_orders") : common("empty")}
        >
            {(found) => (
                <>
                    <Table caption={text("orders_caption")} columns={COLUMNS()} rows={found.items} keyOf={(row) => row.id ?? JSON.stringify(row)} />
                    <Pager next={found.next} at={cursor} />
                </>
            )}
        </Panel>
    );
}

function OutcomeChips({ no, outcome, aftermath }: { no: string; outcome: string | null; aftermath: string | null }) {
    return (
        <nav class="chips" aria-label={text("outcome")}>
            <a class="chip" href={to("operations", no)} aria-current={outcome || aftermath ? undefined : "true"}>
                {common("all")}
            </a>
            {OUTCOMES.map((one) => (
                <a key={one} class="chip" href={toWith(`operations/${no}`, { outcome: one })} aria-current={outcome === one ? "true" : undefined}>
                    {text(`outcome_${one}`)}
                </a>
            ))}
            {aftermath && (
                <a class="chip" href={toWith(`operations/${no}`, { aftermath })} aria-current="true">
                    <code>{aftermath}</code>
                </a>
            )}
        </nav>
    );
}
