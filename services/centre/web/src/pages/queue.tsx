// One sequential queue: its holder and what it does, the orders behind it, and the way to take it away.

import { useState } from "preact/hooks";
import { change, read, type Schemas } from "../api/client";
import { useResource, type Shown } from "../api/resource";
import { query, to, toWith } from "../app/router";
import type { PageProps } from "../app/pages";
import { number } from "../app/time";
import { Badge } from "../parts/badge";
import { Button } from "../parts/button";
import { ActionDialog } from "../parts/dialog";
import { Facts } from "../parts/facts";
import { Age } from "../parts/moment";
import { Page } from "../parts/page";
import { Panel } from "../parts/panel";
import { Pager, Table, type Column } from "../parts/table";
import { common } from "../text/common";
import { queues as text } from "../text/queues";
import { ExplanationDialog, Explained } from "./queues/explanation";

type Queue = Schemas["QueueDetail"];
type Member = Schemas["QueueMemberLine"];

export default function QueuePage({ name = "" }: PageProps) {
    const cursor = query.value.get("cursor");
    const request = read("/v1/queues/{name}", { name }, { cursor, limit: 50 });
    const queue = useResource<Queue>(request);
    const holder = queue.data?.holder ?? undefined;
    const explanation = useResource<Schemas["Explanation"]>(holder ? read("/v1/orders/{id}/explain", { id: holder.order }) : null);
    const [releasing, setReleasing] = useState(false);
    const [released, setReleased] = useState<string>();
    const tools = (
        <Button kind="danger" needs="operator" disabled={!holder} onClick={() => setReleasing(true)}>
            {text("release")}
        </Button>
    );
    const done = (answer: Schemas["ReleasedView"]) => {
        setReleasing(false);
        setReleased(answer.released);
        void queue.refresh();
    };
    return (
        <Page
            title={text("title_one", { queue: name })}
            lead={<a href={toWith("orders", { queue: name })}>{text("orders_of_queue")}</a>}
            tools={tools}
            request={request}
            command={["queues", "show", name]}
        >
            {released && (
                <p class="note good" role="status">
                    {text("released", { order: released })}
                </p>
            )}
            <Panel title={text("holder")} resource={queue} empty={(data) => !data.holder} emptyText={text("holder_none")}>
                {(data) => data.holder && <Holder holder={data.holder} explanation={explanation} />}
            </Panel>
            <Waiting queue={queue} cursor={cursor} />
            {releasing && holder && (
                <ReleaseDialog queue={name} holder={holder} next={cursor ? undefined : queue.data?.items[0]} onClose={() => setReleasing(false)} onDone={done} />
            )}
        </Page>
    );
}

function Holder({ holder, explanation }: { holder: Member; explanation: Shown<Schemas["Explanation"]> }) {
    return (
        <div class="columns">
            <Facts
                facts={[
                    [text("order"), <a href={to("orders", holder.order)}>{holder.order}</a>],
                    [text("status"), <Badge word={holder.status} />],
                    [text("scenario"), <a href={to("scenarios", holder.scenario)}>{holder.scenario}</a>],
                    [text("held"), holder.heldSince ? <Age at={holder.heldSince} /> : <span class="faint">{text("not_run")}</span>],
                    [text("in_queue"), <Age at={holder.since} />],
                ]}
            />
            <Panel bare level={3} title={text("holder_why")} resource={explanation}>
                {(data) => <Explained explanation={data} fresh={explanation.state === "fresh"} />}
            </Panel>
        </div>
    );
}

function Waiting({ queue, cursor }: { queue: Shown<Queue>; cursor: string | null }) {
    const [asked, setAsked] = useState<string>();
    const waiting = Math.max(0, (queue.data?.orders ?? 0) - 1);
    return (
        <>
            <Panel
                title={queue.data ? text("waiting_count", { n: waiting }) : text("waiting")}
                resource={queue}
                empty={(data) => data.items.length === 0 && !data.next && !cursor}
                emptyText={text("waiting_none")}
            >
                {(data) => (
                    <>
                        <Table caption={text("caption_waiting")} columns={columns(setAsked)} rows={data.items} keyOf={(member) => member.order} />
                        <Pager next={data.next} at={cursor} />
                    </>
                )}
            </Panel>
            {asked && <ExplanationDialog order={asked} onClose={() => setAsked(undefined)} />}
        </>
    );
}

function columns(explain: (order: string) => void): Column<Member>[] {
    return [
        { key: "place", name: text("place"), number: true, cell: (member) => number(member.before) },
        { key: "order", name: text("order"), head: true, cell: (member) => <a href={to("orders", member.order)}>{member.order}</a> },
        { key: "status", name: text("status"), cell: (member) => <Badge word={member.status} /> },
        { key: "scenario", name: text("scenario"), cell: (member) => <a href={to("scenarios", member.scenario)}>{member.scenario}</a> },
        { key: "since", name: text("in_queue"), number: true, cell: (member) => <Age at={member.since} /> },
        {
            key: "explain",
            name: text("explain"),
            cell: (member) => (
                <Button small kind="quiet" label={`${text("explain_act")}: ${member.order}`} onClick={() => explain(member.order)}>
                    {text("explain_act")}
                </Button>
            ),
        },
    ];
}

interface ReleaseProps {
    queue: string;
    holder: Member;
    next: Member | undefined;
    onClose: () => void;
    onDone: (answer: Schemas["ReleasedView"]) => void;
}

function ReleaseDialog({ queue, holder, next, onClose, onDone }: ReleaseProps) {
    return (
        <ActionDialog<Schemas["ReleasedView"]>
            title={text("release_title", { queue })}
            act={text("release_act")}
            danger
            reason="required"
            request={(reason) => change("POST", "/v1/queues/{name}/release", { name: queue }, { reason })}
            onDone={onDone}
            onClose={onClose}
        >
            <p>{text("release_effect", { order: holder.order })}</p>
            {next && <p>{text("release_next", { order: next.order })}</p>}
            <Facts
                facts={[
                    [text("holder"), holder.order],
                    [text("status"), <Badge word={holder.status} />],
                    [text("held"), holder.heldSince ? <Age at={holder.heldSince} /> : common("none")],
                ]}
            />
        </ActionDialog>
    );
}
