// The list of refused messages, and one of them with a decision about it.

import { useState } from "preact/hooks";
import { read, type Schemas } from "../../api/client";
import { useResource } from "../../api/resource";
import { go, query } from "../../app/router";
import { may } from "../../app/session";
import { hrefWith } from "../../parts/choice";
import { Page } from "../../parts/page";
import { Tabs } from "../../parts/tabs";
import { text } from "../../text/refused";
import { DropAllDialog, DropDialog, ReplayDialog } from "./dialogs";
import { commandOf, fieldsOf, filterOf } from "./filter";
import { FilterBar, ListPanel } from "./list";
import { MessagePanel } from "./message";
import { tabs } from "./tabs";

type Message = Schemas["RefusedView"];
type Wanted = { readonly what: "replay" | "drop"; readonly message: Message } | { readonly what: "dropAll"; readonly page: Schemas["PageOfRefusedLine"] };

export function MessagesPage() {
    const filter = filterOf(query.value);
    const id = query.value.get("message");
    const list = useResource(read("/v1/refused", {}, { ...fieldsOf(filter), cursor: query.value.get("cursor") }), { every: 10_000 });
    const message = useResource(id && may("operator") ? read("/v1/refused/{message}", { message: id }) : null, { every: 0 });
    const [wanted, setWanted] = useState<Wanted>();
    const [note, setNote] = useState<string>();
    const close = () => setWanted(undefined);
    const done = (what: string | undefined) => {
        close();
        setNote(what);
        go(hrefWith({ message: undefined, view: undefined }), true);
        void list.refresh();
    };
    return (
        <Page title={text("title")} lead={text("lead")} request={id ? message.request : list.request} command={id ? ["refused", "show", id] : commandOf(filter)}>
            {note && (
                <p class="note plain" role="status">
                    {note}
                </p>
            )}
            <Tabs tabs={tabs()} label={text("tabs")} />
            <FilterBar filter={filter} />
            <div class={id ? "beside" : "stack"}>
                <ListPanel filter={filter} resource={list} chosen={id} onDropAll={(page) => setWanted({ what: "dropAll", page })} />
                {id && <MessagePanel resource={message} onWanted={(what, chosen) => setWanted({ what, message: chosen })} />}
            </div>
            {wanted?.what === "replay" && <ReplayDialog message={wanted.message} onDone={() => done(text("now_listed"))} onClose={close} />}
            {wanted?.what === "drop" && <DropDialog message={wanted.message} onDone={() => done(text("drop_all_done", { n: 1 }))} onClose={close} />}
            {wanted?.what === "dropAll" && <DropAllDialog filter={filter} page={wanted.page} onDone={done} onClose={close} />}
        </Page>
    );
}
