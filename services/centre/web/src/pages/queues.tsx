// Sequential queues: who holds each, since when, and how many wait behind.

import { useState } from "preact/hooks";
import { read, type Schemas } from "../api/client";
import { useResource } from "../api/resource";
import { go, query, to } from "../app/router";
import { number } from "../app/time";
import { Button } from "../parts/button";
import { Field } from "../parts/field";
import { Age } from "../parts/moment";
import { Page } from "../parts/page";
import { Panel } from "../parts/panel";
import { Pager, Table, type Column } from "../parts/table";
import { queues as text } from "../text/queues";

type Line = Schemas["QueueLine"];

/** Queues of a page. */
const LIMIT = 100;

export default function Queues() {
    const cursor = query.value.get("cursor");
    const request = read("/v1/queues", {}, { cursor, limit: LIMIT });
    const queues = useResource<Schemas["PageOfQueueLine"]>(request);
    return (
        <Page title={text("title")} lead={<p>{text("lead")}</p>} request={request} command={["queues", "list", "--limit", String(LIMIT)]}>
            <OpenByName />
            <Panel title={text("title")} resource={queues} empty={(data) => data.items.length === 0 && !data.next} emptyText={text("list_none")}>
                {(data) => (
                    <>
                        <Table caption={text("caption")} columns={COLUMNS()} rows={data.items} keyOf={(line) => line.queue} />
                        <Pager next={data.next} at={cursor} />
                    </>
                )}
            </Panel>
        </Page>
    );
}

const COLUMNS = (): Column<Line>[] => [
    { key: "queue", name: text("queue"), head: true, cell: (line) => <a href={to("queues", line.queue)}>{line.queue}</a> },
    { key: "waiting", name: text("waiting"), number: true, cell: (line) => number(Math.max(0, line.orders - 1)) },
    { key: "holder", name: text("holder"), cell: (line) => <a href={to("orders", line.holder)}>{line.holder}</a> },
    { key: "held", name: text("held"), number: true, cell: (line) => (line.heldSince ? <Age at={line.heldSince} /> : <span class="faint">{text("not_run")}</span>) },
    { key: "since", name: text("oldest"), number: true, cell: (line) => <Age at={line.holderRegisteredAt} /> },
];

/** The way to a queue that is not on this page: the list has the longest ones only. */
function OpenByName() {
    const [name, setName] = useState("");
    const open = (event: Event) => {
        event.preventDefault();
        if (name.trim() !== "") go(to("queues", name.trim()));
    };
    return (
        <form class="filters" onSubmit={open}>
            <Field label={text("open_name")}>{(id) => <input id={id} type="search" value={name} onInput={(event) => setName(event.currentTarget.value)} />}</Field>
            <Button type="submit">{text("open")}</Button>
        </form>
    );
}
