// Subscriptions: standing receivers of notifications, what waits for each, and the ways to make, pause and resume one.

import { useState } from "preact/hooks";
import { change, read, type Schemas } from "../api/client";
import { useResource } from "../api/resource";
import { Badge } from "../parts/badge";
import { Button } from "../parts/button";
import { ActionDialog } from "../parts/dialog";
import { Field } from "../parts/field";
import { Lines } from "../parts/lines";
import { Time } from "../parts/moment";
import { Page } from "../parts/page";
import { Panel } from "../parts/panel";
import { Table, type Column } from "../parts/table";
import { text } from "../text/subscriptions";
import { bodyOf, conditionsOf, type Draft } from "./subscriptions/draft";

type Subscription = Schemas["SubscriptionView"];
type Shown = { readonly act: "add" } | { readonly act: "pause" | "resume" | "remove"; readonly name: string };

export default function Subscriptions() {
    const subscriptions = useResource(read("/v1/subscriptions"), { every: 5_000 });
    const [dialog, setDialog] = useState<Shown>();
    const close = () => setDialog(undefined);
    const done = () => {
        close();
        void subscriptions.refresh();
    };
    const add = (
        <Button kind="primary" needs="admin" onClick={() => setDialog({ act: "add" })}>
            {text("add")}
        </Button>
    );
    return (
        <Page title={text("title")} tools={add} request={subscriptions.request} command={["subscriptions", "list"]}>
            <Panel title={text("all")} resource={subscriptions} empty={(page) => page.items.length === 0} emptyText={text("none")}>
                {(page) => <Table caption={text("caption")} columns={columns(setDialog)} rows={page.items} keyOf={(one) => one.name} />}
            </Panel>
            {dialog?.act === "add" && <AddDialog onClose={close} onDone={done} />}
            {dialog && dialog.act !== "add" && <ActOn act={dialog.act} name={dialog.name} onClose={close} onDone={done} />}
        </Page>
    );
}

function columns(choose: (shown: Shown) => void): Column<Subscription>[] {
    return [
        { key: "name", name: text("name"), head: true, cell: (one) => <Lines first={one.name} second={<code class="address">{one.url}</code>} /> },
        { key: "state", name: text("state"), cell: (one) => <State one={one} /> },
        { key: "of", name: text("of"), cell: (one) => <Lines first={conditionsOf(one) || text("every_order")} second={`${text("on")}: ${one.on.join(", ")}`} /> },
        { key: "waiting", name: text("waiting"), number: true, cell: (one) => one.waiting },
        { key: "parked", name: text("parked"), number: true, cell: (one) => one.parked },
        { key: "actions", name: text("actions"), unnamed: true, cell: (one) => <Acts one={one} choose={choose} /> },
    ];
}

function State({ one }: { one: Subscription }) {
    if (!one.pausedAt) return <Badge word={text("active")} tone="good" />;
    const because = one.pausedBecause === "gone" || one.pausedBecause === "backlog" ? one.pausedBecause : "by_hand";
    return (
        <>
            <Badge word={text(because)} tone={because === "by_hand" ? "rest" : "warn"} /> <Time at={one.pausedAt} />
        </>
    );
}

function Acts({ one, choose }: { one: Subscription; choose: (shown: Shown) => void }) {
    const act = one.pausedAt ? "resume" : "pause";
    return (
        <div class="row tight">
            <Button small needs="operator" label={text(`${act}_named`, { name: one.name })} onClick={() => choose({ act, name: one.name })}>
                {text(act)}
            </Button>
            <Button small kind="danger" needs="admin" label={text("remove_named", { name: one.name })} onClick={() => choose({ act: "remove", name: one.name })}>
                {text("remove")}
            </Button>
        </div>
    );
}

function ActOn({ act, name, onClose, onDone }: { act: "pause" | "resume" | "remove"; name: string; onClose: () => void; onDone: () => void }) {
    const [replay, setReplay] = useState(true);
    const request = (reason: string) => {
        if (act === "remove") return change("DELETE", "/v1/subscriptions/{name}", { name });
        return change("POST", `/v1/subscriptions/{name}/${act}`, { name }, act === "resume" ? { reason, replay } : { reason });
    };
    return (
        <ActionDialog
            title={text(`${act}_named`, { name })}
            act={text(act)}
            danger={act === "remove"}
            reason={act === "remove" ? "none" : "required"}
            request={request}
            onDone={onDone}
            onClose={onClose}
        >
            <p>{text(`${act}_effect`)}</p>
            {act === "resume" && (
                <label class="check">
                    <input type="checkbox" checked={replay} onInput={() => setReplay(!replay)} />
                    {text("replay")}
                </label>
            )}
        </ActionDialog>
    );
}

const EMPTY: Draft = { name: "", url: "", scenarios: "", labels: "", outcomes: "" };
const FIELDS = ["name", "url", "scenarios", "labels", "outcomes"] as const;

function AddDialog({ onClose, onDone }: { onClose: () => void; onDone: () => void }) {
    const [draft, setDraft] = useState(EMPTY);
    const ready = draft.name.trim() !== "" && draft.url.trim() !== "";
    const request = () => change("PUT", "/v1/subscriptions/{name}", { name: draft.name.trim() }, bodyOf(draft));
    return (
        <ActionDialog title={text("add_title")} act={text("add_act")} reason="none" disabled={!ready} request={request} onDone={onDone} onClose={onClose}>
            {FIELDS.map((field) => (
                <Field key={field} label={text(field)} hint={text(`${field}_hint`)}>
                    {(id) => <input id={id} value={draft[field]} autocomplete="off" onInput={(event) => setDraft({ ...draft, [field]: event.currentTarget.value })} />}
                </Field>
            ))}
        </ActionDialog>
    );
}
