// The page of one order: its head with what can be done, the answer to why it does not run, and its parts as tabs.

import { useRef } from "preact/hooks";
import { amended } from "../api/amended";
import { read, type ApiRequest } from "../api/client";
import { useResource, type Shown } from "../api/resource";
import { query, to, toWith } from "../app/router";
import type { PageProps } from "../app/pages";
import { Badge } from "../parts/badge";
import { CopyButton } from "../parts/copy";
import { Page } from "../parts/page";
import { Panel } from "../parts/panel";
import { Tabs, chosenTab, type Tab } from "../parts/tabs";
import { order as text } from "../text/order";
import { Actions } from "./order/actions";
import { CopyAs } from "./order/copy-as";
import { DataTab } from "./order/data-tab";
import { Dependencies } from "./order/dependencies";
import { LedgerTab, ledgerOf } from "./order/ledger-panel";
import { requestOf } from "./order/list";
import { Calls, CALLS, Events, EVENTS, Log, LOG, Tasks, TASKS, Transitions, TRANSITIONS } from "./order/lists";
import { Overview } from "./order/overview";
import { ended, type Order } from "./order/permitted";
import { Requests, REQUESTS } from "./order/requests";
import { Steps, STEPS } from "./order/steps";
import { Why } from "./order/why";
import "../style/order.css";

const TABS = ["overview", "data", "steps", "requests", "transitions", "events", "tasks", "log", "calls", "dependencies", "ledger"] as const;
type TabKey = (typeof TABS)[number];

/** Interval of asking for an order that has ended: what may still happen to it comes as an event. */
const CALM = 30_000;

const tabs = (): Tab[] => TABS.map((key) => ({ key, name: text(`tab_${key}`) }));

export default function OrderPage({ id = "" }: PageProps) {
    // Another order is another page: nothing of the one before may stand while the new one is awaited.
    return <OrderOf key={id} id={id} />;
}

function OrderOf({ id }: { id: string }) {
    const calm = useRef(false);
    const shown = useResource(read("/v1/orders/{id}", { id }), { every: calm.current ? CALM : undefined, follow: { order: [id] }, amend: amended });
    const order = shown.data;
    calm.current = order !== undefined && ended(order);
    const tab = chosenTab(tabs()) as TabKey;
    return (
        <Page
            title={text("order", { id })}
            lead={order && <Lead order={order} />}
            tools={
                order && (
                    <>
                        <Actions order={order} refresh={() => void shown.refresh()} />
                        <CopyAs order={order} />
                    </>
                )
            }
            {...askedBy(tab, id)}
        >
            {order && <Why order={order} shown={shown} />}
            <Tabs tabs={tabs()} label={text("tabs")} />
            <Content tab={tab} id={id} shown={shown} />
        </Page>
    );
}

/** Status, scenario, and where the order belongs, each a link to the list of its like. */
function Lead({ order }: { order: Order }) {
    const { scenario, scenarioVersion, flow, queue, transactionId } = order;
    return (
        <div class="order-lead">
            <span>
                <Badge word={order.status} /> <CopyButton text={order.id} name={text("copy_id")} />
            </span>
            <Belongs name={text("scenario")} href={`${to("scenarios", scenario)}?version=${scenarioVersion}`} value={`${scenario} @ ${scenarioVersion}`} />
            <Belongs name={text("flow")} href={to("flows", flow)} value={flow} />
            {queue && <Belongs name={text("queue")} href={to("queues", queue)} value={queue} />}
            {transactionId && <Belongs name={text("transaction")} href={toWith("orders", { transactionId })} value={transactionId} />}
        </div>
    );
}

function Belongs({ name, href, value }: { name: string; href: string; value: string }) {
    return (
        <span>
            <span class="name">{name}</span>
            <a href={href}>{value}</a>
        </span>
    );
}

function Content({ tab, id, shown }: { tab: TabKey; id: string; shown: Shown<Order> }) {
    switch (tab) {
        case "overview":
            return shown.data ? <Overview order={shown.data} shown={shown} /> : <Panel resource={shown}>{() => null}</Panel>;
        case "data":
            return <DataTab shown={shown} />;
        case "steps":
            return <Steps id={id} />;
        case "requests":
            return <Requests id={id} eager={shown.data !== undefined && ended(shown.data)} />;
        case "transitions":
            return <Transitions id={id} />;
        case "events":
            return <Events id={id} />;
        case "tasks":
            return <Tasks id={id} />;
        case "log":
            return <Log id={id} />;
        case "calls":
            return <Calls id={id} />;
        case "dependencies":
            return <Dependencies id={id} shown={shown} />;
        case "ledger":
            return <LedgerTab id={id} />;
    }
}

/** What a tab asks the server, and the command that asks for the same, where there is one. */
function askedBy(tab: TabKey, id: string): { request: ApiRequest; command?: readonly string[] } {
    const at = query.value.get("at") ?? undefined;
    switch (tab) {
        case "steps":
            return { request: requestOf(STEPS, id, at), command: ["order", "steps", id] };
        case "requests":
            return { request: requestOf(REQUESTS, id, at) };
        case "transitions":
            return { request: requestOf(TRANSITIONS, id, at) };
        case "events":
            return { request: requestOf(EVENTS, id, at), command: ["order", "events", id, ...(at ? ["--after", at] : [])] };
        case "tasks":
            return { request: requestOf(TASKS, id, at), command: ["order", "tasks", id] };
        case "log":
            return { request: requestOf(LOG, id, at), command: ["order", "log", id, ...(at && /^\d+$/.test(at) ? ["--from-line", String(Number(at) + 1)] : [])] };
        case "calls":
            return { request: requestOf(CALLS, id, at) };
        case "dependencies":
            return { request: read("/v1/orders/{id}/dependencies", { id }), command: ["order", "dependencies", id] };
        case "ledger":
            return { request: ledgerOf(id) };
        default:
            return { request: read("/v1/orders/{id}", { id }), command: ["order", "get", id] };
    }
}
