// Orders: one bar of conditions, and what it finds. The address has the conditions under the API's own names.

import { useMemo, useState } from "preact/hooks";
import { address, go, path, query, setQuery, to } from "../app/router";
import { may } from "../app/session";
import { orders as text } from "../text/orders";
import { Button } from "../parts/button";
import { Icon } from "../parts/icon";
import { Page } from "../parts/page";
import { QueryBar } from "./orders/bar";
import type { Orders } from "./orders/bulk";
import { BulkDialog } from "./orders/bulk-dialog";
import { ColumnChoice } from "./orders/columns";
import { ExportMenu } from "./orders/export-menu";
import { OrderList, isLive, useOrders } from "./orders/list";
import { QuickFilters } from "./orders/quick";
import { Refused, isRefusal } from "./orders/refused";
import { SavedSearches } from "./orders/saved";
import { flagsOf, listRequest, queryOf, selectionOf, type Selection } from "./orders/selection";
import { faultsOf } from "./orders/words";

/** Address of the list with other conditions: its columns stay, its page does not. */
function addressOf(selection: Selection): string {
    return path.value + queryOf(selection, { columns: query.value.get("columns"), live: query.value.get("live") });
}

export default function OrdersPage() {
    const selection = useMemo(() => selectionOf(query.value), [address.value]);
    const cursor = query.value.get("cursor");
    const flags = flagsOf(selection);
    return (
        <Page
            title={text("title")}
            lead={text("lead")}
            tools={
                <>
                    <LiveButton />
                    <ColumnChoice />
                    <SavedSearches selection={selection} addressOf={addressOf} />
                    <ExportMenu selection={selection} />
                    {may("operator") && (
                        <a class="button primary" href={to("orders", "new")}>
                            <Icon name="plus" />
                            {text("new_order")}
                        </a>
                    )}
                </>
            }
            request={listRequest(selection, cursor, 50)}
            {...(flags ? { command: ["order", "list", ...flags] } : {})}
        >
            <QueryBar selection={selection} onSearch={(wanted) => go(addressOf(wanted))} />
            {/* What the server would refuse is not asked for: the bar says what is wrong. */}
            {faultsOf(selection).length === 0 && <Found key={queryOf(selection)} selection={selection} cursor={cursor} />}
        </Page>
    );
}

function LiveButton() {
    const live = isLive();
    return (
        <Button kind="quiet" pressed={live} title={text("live_hint")} onClick={() => setQuery({ live: live ? "off" : undefined }, true)}>
            <Icon name={live ? "pause" : "play"} />
            {text("live")}
        </Button>
    );
}

function Found({ selection, cursor }: { selection: Selection; cursor: string | null }) {
    const live = isLive();
    const page = useOrders(selection, cursor, live);
    const [ticked, setTicked] = useState<ReadonlySet<string>>(new Set());
    const [acting, setActing] = useState<{ title: string; orders: Orders }>();
    const { failure } = page.known.value;
    if (!page.data && isRefusal(failure)) return <Refused failure={failure} selection={selection} addressOf={addressOf} />;
    const actions = (
        <>
            {ticked.size > 0 && (
                <Button small needs="operator" onClick={() => setActing({ title: text("bulk_title_ticked"), orders: { ids: [...ticked] } })}>
                    {text("bulk_ticked", { n: ticked.size })}
                </Button>
            )}
            <Button
                small
                needs="operator"
                disabled={selection.length === 0}
                title={selection.length === 0 ? text("bulk_narrow") : ""}
                onClick={() => setActing({ title: text("bulk_title"), orders: { selection } })}
            >
                {text("bulk_all")}
            </Button>
        </>
    );
    return (
        <>
            <QuickFilters selection={selection} addressOf={addressOf} live={live} />
            <OrderList page={page} selection={selection} cursor={cursor} addressOf={addressOf} ticked={ticked} onTick={setTicked} actions={actions} />
            {acting && <BulkDialog title={acting.title} orders={acting.orders} onClose={() => setActing(undefined)} />}
        </>
    );
}
