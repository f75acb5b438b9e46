// A window in which a line of the table of answers is written.

import { useState } from "preact/hooks";
import { Button } from "../../parts/button";
import { Dialog } from "../../parts/dialog";
import { Field, Select } from "../../parts/field";
import { common } from "../../text/common";
import { workbench as text } from "../../text/workbench";
import { askedText } from "./answer-text";
import type { Answer, AskedKind, Callback } from "./trial";
import { ValueField } from "./value-field";

interface Props {
    answer: Answer;
    isNew: boolean;
    onSave: (answer: Answer) => void;
    onClose: () => void;
}

/** What a part of the window changes. */
interface PartProps {
    answer: Answer;
    change: (changes: Partial<Answer>) => void;
}

const KINDS: readonly AskedKind[] = ["http", "amqp", "actor", "order"];
const METHODS = ["", "GET", "POST", "PUT", "PATCH", "DELETE", "HEAD"];
const HTTP_FAILURES = ["", "ReadTimeout", "ConnectTimeout", "ConnectionRefused", "ConnectionReset", "ConnectionClosed", "DnsError", "TlsError", "BodyError", "ProtocolError"];

const words = (all: readonly string[], none: string) => all.map((value) => ({ value, text: value === "" ? none : value }));
const orNone = (value: string) => (value === "" ? undefined : value);

/** Without the keys that have no value: a file does not have them either. */
function bare(answer: Answer): Answer {
    return Object.fromEntries(Object.entries(answer).filter(([, value]) => value !== undefined)) as unknown as Answer;
}

export function AnswerDialog({ answer, isNew, onSave, onClose }: Props) {
    const [draft, setDraft] = useState(answer);
    const change = (changes: Partial<Answer>) => setDraft((before) => ({ ...before, ...changes }));
    return (
        <Dialog title={isNew ? text("answer_new") : text("answer_edit", { asked: askedText(answer) })} onClose={onClose} wide>
            <form
                onSubmit={(event) => {
                    event.preventDefault();
                    onSave(bare(draft));
                }}
            >
                <div class="dialog-body">
                    <AskedPart answer={draft} change={change} />
                    <ReplyPart answer={draft} change={change} />
                    {(draft.asked.kind === "http" || draft.asked.kind === "amqp") && <CallbackPart answer={draft} change={change} />}
                </div>
                <footer class="dialog-foot">
                    <Button onClick={onClose}>{common("cancel")}</Button>
                    <Button type="submit" kind="primary">
                        {text("save")}
                    </Button>
                </footer>
            </form>
        </Dialog>
    );
}

function TextInput({ label, hint, value, onChange }: { label: string; hint?: string; value: string | undefined; onChange: (value: string | undefined) => void }) {
    return (
        <Field label={label} {...(hint ? { hint } : {})}>
            {(id) => <input id={id} value={value ?? ""} spellcheck={false} onInput={(event) => onChange(orNone(event.currentTarget.value.trim()))} />}
        </Field>
    );
}

const TARGETS = { http: "target_http", amqp: "target_amqp", actor: "target_actor", order: "target_order" } as const;

function AskedPart({ answer, change }: PartProps) {
    const { asked } = answer;
    const set = (changes: Partial<Answer["asked"]>) => change({ asked: { ...asked, ...changes } });
    return (
        <fieldset class="fields">
            <legend>{text("asked")}</legend>
            <div class="row">
                <Select label={text("kind")} value={asked.kind} options={words(KINDS, "")} onChange={(kind) => change({ asked: { kind: kind as AskedKind, target: asked.target ?? "" } })} />
                {asked.kind === "http" && (
                    <Select label={text("method")} value={asked.method ?? ""} options={words(METHODS, text("method_any"))} onChange={(method) => set({ method: orNone(method) })} />
                )}
            </div>
            <TextInput label={text(TARGETS[asked.kind])} hint={text("answers_hint")} value={asked.target} onChange={(target) => set({ target: target ?? "**" })} />
            {asked.kind === "amqp" && <TextInput label={text("key")} value={asked.key} onChange={(key) => set({ key })} />}
            <ValueField label={text("body_holds")} hint={text("body_hint")} value={asked.body} form="any" onChange={(body) => set({ body })} />
        </fieldset>
    );
}

function ReplyPart({ answer, change }: PartProps) {
    const { kind } = answer.asked;
    const fails = kind === "http" ? HTTP_FAILURES : kind === "order" ? ["", "refused"] : kind === "amqp" ? ["", "unroutable"] : [];
    return (
        <fieldset class="fields">
            <legend>{text("answer")}</legend>
            <div class="row">
                {fails.length > 0 && <Select label={text("fails")} value={answer.fails ?? ""} options={words(fails, text("none"))} onChange={(value) => change({ fails: orNone(value), ...(value === "" ? {} : { status: undefined, body: undefined, headers: undefined }) })} />}
                {kind === "actor" && <Select label={text("decision")} value={answer.decision ?? "success"} options={words(["success", "fail", "none"], "")} onChange={(decision) => change({ decision })} />}
                {kind === "order" && <Select label={text("status")} value={String(answer.status ?? "success")} options={words(["success", "fail", "interrupted", "canceled", "none"], "")} onChange={(status) => change({ status })} />}
            </div>
            {kind === "http" && !answer.fails && <HttpReply answer={answer} change={change} />}
            {(kind === "actor" || kind === "order") && <ValueField label={text("result")} hint={text("body_hint")} value={answer.result} form="any" onChange={(result) => change({ result })} />}
            <div class="two">
                <TextInput label={text("after")} hint={text("after_hint")} value={answer.after} onChange={(after) => change({ after })} />
                <TextInput label={text("times")} hint={text("times_hint")} value={answer.times?.toString()} onChange={(times) => change({ times: times && Number(times) > 0 ? Number(times) : undefined })} />
            </div>
        </fieldset>
    );
}

function HttpReply({ answer, change }: PartProps) {
    return (
        <>
            <TextInput label={text("status")} value={answer.status?.toString() ?? "200"} onChange={(status) => change({ status: status === undefined ? undefined : Number(status) })} />
            <ValueField label={text("body")} hint={text("body_hint")} value={answer.body} form="any" onChange={(body) => change({ body })} />
            <ValueField label={text("headers")} value={answer.headers} form="mapping" onChange={(headers) => change({ headers })} />
        </>
    );
}

function CallbackPart({ answer, change }: PartProps) {
    const callback: Callback | undefined = answer.callback === "none" ? undefined : answer.callback;
    const set = (changes: Partial<Callback>) => change({ callback: { ...callback, ...changes } });
    return (
        <fieldset class="fields">
            <legend>{text("callback")}</legend>
            <div class="two">
                <TextInput label={text("callback_after")} hint={text("callback_hint")} value={callback?.after} onChange={(after) => (after === undefined ? change({ callback: undefined }) : set({ after }))} />
                {callback && <TextInput label={text("step_status")} value={callback.stepStatus} onChange={(stepStatus) => set({ stepStatus })} />}
            </div>
            {callback && <ValueField label={text("callback_body")} hint={text("body_hint")} value={callback.body} form="any" onChange={(body) => set({ body })} />}
        </fieldset>
    );
}
