// Searches that have a name: open one, save the present one, remove one.

import { useEffect, useState } from "preact/hooks";
import { change, json, read, type Schemas } from "../../api/client";
import { useResource, type Shown } from "../../api/resource";
import { announce } from "../../app/announce";
import { address } from "../../app/router";
import { may } from "../../app/session";
import { common } from "../../text/common";
import { orders as text } from "../../text/orders";
import { Button } from "../../parts/button";
import { ActionDialog, Dialog } from "../../parts/dialog";
import { Field } from "../../parts/field";
import { Panel } from "../../parts/panel";
import { saveRequest, selectionOfBody, valueOf, type Selection } from "./selection";
import { textOf } from "./words";

type Saved = Schemas["PageOfSavedSearch"];

interface Props {
    selection: Selection;
    addressOf: (selection: Selection) => string;
}

export function SavedSearches({ selection, addressOf }: Props) {
    const [open, setOpen] = useState(false);
    const at = address.value;
    useEffect(() => setOpen(false), [at]);
    return (
        <>
            <Button kind="quiet" onClick={() => setOpen(true)}>
                {text("saved")}
            </Button>
            {open && (
                <Dialog title={text("saved")} onClose={() => setOpen(false)}>
                    <Content selection={selection} addressOf={addressOf} />
                </Dialog>
            )}
        </>
    );
}

function Content({ selection, addressOf }: Props) {
    const saved = useResource(read("/v1/searches", {}, { limit: 1000 }), { every: 0 });
    const [leaving, setLeaving] = useState<string>();
    const canSave = selection.length > 0 && valueOf(selection, "saved") === undefined;
    return (
        <div class="dialog-body saved">
            <Panel bare resource={saved} empty={(page) => page.items.length === 0} emptyText={text("saved_none")}>
                {(page) => (
                    <ul class="plain-list">
                        {page.items.map(({ name, search }) => (
                            <li key={name} class="row">
                                <a href={addressOf(selectionOfBody(search))}>
                                    <span class="strong">{name}</span> <code class="faint">{textOf(selectionOfBody(search))}</code>
                                </a>
                                <Button small kind="quiet" needs="operator" label={text("saved_forget", { name })} onClick={() => setLeaving(name)}>
                                    ×
                                </Button>
                            </li>
                        ))}
                    </ul>
                )}
            </Panel>
            {canSave && may("operator") && <Save selection={selection} saved={saved} />}
            {leaving !== undefined && (
                <ActionDialog
                    title={text("saved_forget", { name: leaving })}
                    act={text("saved_stopped")}
                    danger
                    reason="none"
                    request={() => change("DELETE", "/v1/searches/{name}", { name: leaving })}
                    onDone={() => {
                        setLeaving(undefined);
                        void saved.refresh();
                    }}
                    onClose={() => setLeaving(undefined)}
                >
                    <p>{text("saved_forget_what", { name: leaving })}</p>
                </ActionDialog>
            )}
        </div>
    );
}

function Save({ selection, saved }: { selection: Selection; saved: Shown<Saved> }) {
    const [name, setName] = useState("");
    const [failure, setFailure] = useState<string>();
    const isTaken = saved.data?.items.some((one) => one.name === name.trim());
    const save = async (event: Event) => {
        event.preventDefault();
        setFailure(undefined);
        try {
            await json(saveRequest(selection, name.trim()));
            setName("");
            announce(common("done"));
            await saved.refresh();
        } catch (error) {
            setFailure(String((error as Error).message));
        }
    };
    return (
        <form onSubmit={(event) => void save(event)}>
            <Field label={text("saved_name")} hint={text(isTaken ? "saved_over" : "saved_save_hint")} error={failure}>
                {(id) => <input id={id} value={name} required maxLength={100} onInput={(event) => setName(event.currentTarget.value)} />}
            </Field>
            <Button type="submit" small>
                {text("saved_save")}
            </Button>
        </form>
    );
}
