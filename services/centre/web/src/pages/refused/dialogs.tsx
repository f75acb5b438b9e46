// Windows that send a message again, drop it, and drop all of a list.

import { useState } from "preact/hooks";
import { change, type Schemas } from "../../api/client";
import { Button } from "../../parts/button";
import { ActionDialog } from "../../parts/dialog";
import { Facts } from "../../parts/facts";
import { Field } from "../../parts/field";
import { text } from "../../text/refused";
import { faultOf, isEditable, isWhole, replayOf, type Edited } from "./bytes";
import { dropOf, fieldsOf, reasonParts, type Filter } from "./filter";
import { cutText } from "./message";

type Message = Schemas["RefusedView"];

interface Ending {
    onDone: () => void;
    onClose: () => void;
}

export function ReplayDialog({ message, onDone, onClose }: { message: Message } & Ending) {
    const [edited, setEdited] = useState<Edited>({ body: message.body, key: message.key, withoutReceipt: false });
    const set = (changed: Partial<Edited>) => setEdited({ ...edited, ...changed });
    return (
        <ActionDialog
            title={text("replay_title")}
            act={text("replay_act")}
            reason="required"
            request={(reason) => change("POST", "/v1/refused/{message}/replay", { message: message.id }, replayOf(message, edited, reason))}
            onDone={onDone}
            onClose={onClose}
        >
            <p class="note plain">{message.reason}</p>
            <p>{text("replay_effect")}</p>
            <BodyField message={message} edited={edited} onChange={set} />
            <Field label={text("key")} {...(edited.key === message.key ? {} : { hint: text("key_changed") })}>
                {(id) => <input id={id} class="mono" required value={edited.key} onInput={(event) => set({ key: event.currentTarget.value })} />}
            </Field>
            <label class="check">
                <input type="checkbox" checked={edited.withoutReceipt} onChange={(event) => set({ withoutReceipt: event.currentTarget.checked })} />
                {text("without_receipt")}
            </label>
        </ActionDialog>
    );
}

function BodyField({ message, edited, onChange }: { message: Message; edited: Edited; onChange: (changed: Partial<Edited>) => void }) {
    if (!isEditable(message)) {
        return <p class="note">{isWhole(message) ? text("body_hex") : cutText(message)}</p>;
    }
    const changed = edited.body !== message.body;
    const fault = faultOf(edited.body);
    return (
        <>
            <Field label={text("body")} hint={fault === undefined ? text("json_fine") : text("json_broken", { reason: fault })}>
                {(id) => <textarea id={id} rows={9} spellcheck={false} value={edited.body} onInput={(event) => onChange({ body: event.currentTarget.value })} />}
            </Field>
            {changed ? (
                <Button small onClick={() => onChange({ body: message.body })}>
                    {text("restore")}
                </Button>
            ) : (
                <p class="faint">{text("unchanged")}</p>
            )}
        </>
    );
}

export function DropDialog({ message, onDone, onClose }: { message: Message } & Ending) {
    return (
        <ActionDialog
            title={text("drop_title")}
            act={text("drop_act")}
            danger
            reason="required"
            request={(reason) => change("POST", "/v1/refused/{message}/drop", { message: message.id }, { reason })}
            onDone={onDone}
            onClose={onClose}
        >
            <p>{text("drop_effect")}</p>
            <p class="note plain">
                <code>{message.id}</code> {reasonParts(message.reason).words}
            </p>
        </ActionDialog>
    );
}

interface DropAllProps {
    filter: Filter;
    /** The first page of the list, as it was seen. */
    page: Schemas["PageOfRefusedLine"];
    onDone: (note: string) => void;
    onClose: () => void;
}

export function DropAllDialog({ filter, page, onDone, onClose }: DropAllProps) {
    const { status, reasonType, refusedBefore } = fieldsOf(filter);
    const n = page.items.length;
    return (
        <ActionDialog<Schemas["RefusedDropped"]>
            title={text("drop_all_title")}
            act={text("drop_act")}
            danger
            reason="required"
            request={(reason) => change("POST", "/v1/refused/drop", {}, dropOf(filter, page.items, reason))}
            onDone={({ dropped, more }) => onDone(`${text("drop_all_done", { n: dropped })}${more ? ` ${text("drop_all_more")}` : ""}`)}
            onClose={onClose}
        >
            <p>{text("drop_all_effect")}</p>
            <Facts
                facts={[
                    [text("status"), <code key="status">{status}</code>],
                    [text("type"), reasonType ? <code>{reasonType}</code> : text("type_any")],
                    [text("before"), refusedBefore ? <code>{refusedBefore}</code> : null],
                ]}
            />
            <p class="note spaced">{text(page.next ? "drop_all_page_more" : "drop_all_page", { n })}</p>
        </ActionDialog>
    );
}
