// The orders of what is selected: failed ones, or those in retry.

import type { Schemas } from "../../api/client";
import type { Shown } from "../../api/resource";
import { query, to, toWith } from "../../app/router";
import { Button } from "../../parts/button";
import { Choice } from "../../parts/choice";
import { Time } from "../../parts/moment";
import { Panel } from "../../parts/panel";
import { Pager, Table, type Column } from "../../parts/table";
import { text } from "../../text/errors";
import { searchOf } from "./bulk";
import type { Bulk } from "./bulk-dialog";
import type { Selection } from "./selection";

type Order = Schemas["ErrorOrder"];

interface Props {
    selection: Selection;
    resource: Shown<Schemas["ErrorOrders"]>;
    /** Start of the time that the groups above are about. */
    since: string | undefined;
    onBulk: (bulk: Bulk) => void;
}

export function OrdersPanel({ selection, resource, since, onBulk }: Props) {
    const { conditions, status } = selection;
    return (
        <Panel
            title={text("orders")}
            resource={resource}
            empty={(orders) => orders.items.length === 0 && !orders.next}
            emptyText={text("orders_empty")}
            tools={
                <>
                    <Choice
                        label={text("status")}
                        name="status"
                        chosen={status}
                        usual="fail"
                        drops={["cursor"]}
                        options={[
                            { value: "fail", text: text("status_fail") },
                            { value: "retry", text: text("status_retry") },
                        ]}
                    />
                    <a class="button" href={toWith("orders", searchOf(conditions, status, selection.since))}>
                        {text("search_orders")}
                    </a>
                    <Button needs="operator" disabled={since === undefined} onClick={() => since !== undefined && onBulk({ conditions, status, since })}>
                        {text("act")}
                    </Button>
                </>
            }
        >
            {(orders) => (
                <>
                    <Table caption={text("orders")} columns={columnsOf(selection)} rows={orders.items} keyOf={(order) => order.id} />
                    <Pager next={orders.next} at={query.value.get("cursor")} />
                </>
            )}
        </Panel>
    );
}

/** Columns that tell the orders apart: what is a condition is the same for all. */
function columnsOf({ status, conditions }: Selection): Column<Order>[] {
    const columns: Column<Order>[] = [
        { key: "order", name: text("order"), head: true, cell: (order) => <a href={to("orders", order.id)}>{order.id}</a> },
        { key: "at", name: text(status === "fail" ? "at" : "at_retry"), cell: (order) => <Time at={order.at} /> },
        { key: "class", name: text("class"), cell: (order) => (order.class ? <code>{order.class}</code> : <span class="faint">{text("class_none")}</span>) },
        { key: "state", name: text("state"), cell: (order) => order.state },
        { key: "scenario", name: text("scenario"), cell: (order) => order.scenario },
        { key: "message", name: text("message"), wide: true, cell: (order) => <span title={order.message ?? ""}>{order.message}</span> },
    ];
    return columns.filter(({ key }) => !(key in conditions));
}
