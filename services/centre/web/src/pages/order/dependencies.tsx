// What an order waits for, what waits for it, and what it started.

import { read, type Schemas } from "../../api/client";
import { useResource, type Shown } from "../../api/resource";
import { to } from "../../app/router";
import { Badge } from "../../parts/badge";
import { Time } from "../../parts/moment";
import { Panel } from "../../parts/panel";
import { Table, type Column } from "../../parts/table";
import { order as text } from "../../text/order";
import { DependencyPicture } from "./dependency-picture";
import type { Order } from "./permitted";

export type DependencyGraph = Schemas["DependencyGraph"];
type Edge = DependencyGraph["edges"][number];

const STANDS = { met: "good", missed: "bad", closed: "bad" } as const;

export function Dependencies({ id, shown }: { id: string; shown: Shown<Order> }) {
    const graph = useResource(read("/v1/orders/{id}/dependencies", { id }), { every: 10_000, follow: { order: [id] } });
    const before = (data: DependencyGraph) => data.edges.filter((edge) => edge.order === id);
    const behind = (data: DependencyGraph) => data.edges.filter((edge) => edge.after === id);
    return (
        <div class="stack">
            <Panel title={text("tab_dependencies")} resource={graph} empty={(data) => data.edges.length === 0} emptyText={text("waits_for_empty")}>
                {(data) => (
                    <>
                        {data.truncated && <p class="note">{text("deps_truncated")}</p>}
                        <DependencyPicture graph={data} />
                    </>
                )}
            </Panel>
            <Panel title={text("waits_for")} resource={graph} empty={(data) => before(data).length === 0} emptyText={text("waits_for_empty")}>
                {(data) => <Edges edges={before(data)} graph={data} other="after" title={text("waits_for")} />}
            </Panel>
            <Panel title={text("waited_by")} resource={graph} empty={(data) => behind(data).length === 0} emptyText={text("waited_by_empty")}>
                {(data) => <Edges edges={behind(data)} graph={data} other="order" title={text("waited_by")} />}
            </Panel>
            <Panel title={text("children")} resource={shown} empty={(order) => order.children.length === 0 && !order.parent} emptyText={text("children_empty")}>
                {(order) => <Family order={order} />}
            </Panel>
        </div>
    );
}

function Edges({ edges, graph, other, title }: { edges: readonly Edge[]; graph: DependencyGraph; other: "order" | "after"; title: string }) {
    const nodeOf = (edge: Edge) => graph.nodes.find((node) => node.id === edge[other]);
    const columns: Column<Edge>[] = [
        { key: "order", name: text("condition_who"), head: true, cell: (edge) => <a href={to("orders", edge[other])}>{edge[other]}</a> },
        {
            key: "status",
            name: text("status"),
            cell: (edge) => (nodeOf(edge)?.registered === false ? <span class="warn-text">{text("registered_not")}</span> : <Badge word={nodeOf(edge)?.status} />),
        },
        { key: "step", name: text("state"), cell: (edge) => nodeOf(edge)?.step && <code>{nodeOf(edge)?.step}</code> },
        { key: "stand", name: text("outcome"), cell: (edge) => <Badge word={edge.stand} tone={STANDS[edge.stand as keyof typeof STANDS] ?? "wait"} /> },
        { key: "states", name: text("condition_states"), cell: (edge) => edge.states.join(", ") },
        { key: "otherwise", name: text("condition_otherwise"), cell: (edge) => <code>{edge.otherwise}</code> },
        { key: "kind", name: text("condition_kind"), cell: (edge) => <code>{edge.kind}</code> },
        { key: "mode", name: text("condition_mode"), cell: (edge) => <code>{edge.mode}</code> },
        { key: "settled", name: text("condition_settled"), cell: (edge) => <Time at={edge.settledAt} /> },
    ];
    return <Table caption={text("rows_of", { title })} columns={columns} rows={edges.slice(0, 150)} keyOf={(edge) => `${edge.order} ${edge.after} ${edge.kind}`} />;
}

function Family({ order }: { order: Order }) {
    return (
        <>
            {order.parent && (
                <p>
                    {text("parent")} <a href={to("orders", order.parent)}>{order.parent}</a>
                </p>
            )}
            {order.children.length > 0 && (
                <Table
                    caption={text("rows_of", { title: text("children") })}
                    columns={[
                        { key: "id", name: text("condition_who"), head: true, cell: (child) => <a href={to("orders", child.id)}>{child.id}</a> },
                        { key: "status", name: text("status"), cell: (child) => <Badge word={child.status} /> },
                    ]}
                    rows={order.children.slice(0, 300)}
                    keyOf={(child) => child.id}
                />
            )}
        </>
    );
}
