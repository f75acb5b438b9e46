// A window that acts on all orders of a group: it says how many they are before anything is done.

import { useState } from "preact/hooks";
import { change, type Schemas } from "../../api/client";
import { useAnswer, type Answered } from "../../api/answer";
import { to } from "../../app/router";
import { ActionDialog } from "../../parts/dialog";
import { Field } from "../../parts/field";
import { text } from "../../text/errors";
import { actionsFor, operationOf, USUALLY, type Action, type How } from "./bulk";
import { setConditions, type Conditions } from "./selection";

/** Orders that somebody wants to act on. The time is that of the list, so that what was seen is what is taken. */
export interface Bulk {
    readonly conditions: Conditions;
    readonly status: "fail" | "retry";
    readonly since: string;
}

type Outcome = Schemas["OperationOutcome"];

export function BulkDialog({ bulk, onClose, onBegun }: { bulk: Bulk; onClose: () => void; onBegun: (no: number) => void }) {
    const actions = actionsFor(bulk.status);
    const [how, setHow] = useState<How>({ ...USUALLY, action: actions[0] ?? "restart", pace: bulk.status === "fail" ? "ramp" : "all" });
    const asked = (reason: string) => operationOf(bulk.conditions, bulk.since, how, reason);
    const preview = useAnswer<Outcome>(change("POST", "/v1/operations", {}, { ...asked(text("bulk_title")), dryRun: true }));
    return (
        <ActionDialog<Outcome>
            title={text("bulk_title")}
            act={text("begin")}
            danger={how.action !== "restart"}
            reason="required"
            disabled={!preview.data || preview.data.orders === 0}
            request={(reason) => change("POST", "/v1/operations", {}, asked(reason))}
            onDone={({ operation }) => operation && onBegun(operation.no)}
            onClose={onClose}
        >
            <ConditionLine conditions={bulk.conditions} />
            <Preview preview={preview} />
            <HowFields how={how} actions={actions} onChange={(changed) => setHow({ ...how, ...changed })} />
            <p class="faint">{text("bulk_follow")}</p>
        </ActionDialog>
    );
}

function ConditionLine({ conditions }: { conditions: Conditions }) {
    const set = setConditions(conditions);
    if (set.length === 0) return <p>{text("conditions_none")}</p>;
    return (
        <ul class="conditions" aria-label={text("conditions")}>
            {set.map(([field, value]) => (
                <li key={field}>
                    <span class="faint">{text(`by_${field}`)}</span> <code>{value}</code>
                </li>
            ))}
        </ul>
    );
}

function Preview({ preview: { data, failure } }: { preview: Answered<Outcome> }) {
    if (failure)
        return (
            <p class="problem" role="alert">
                {failure.message}
            </p>
        );
    if (!data)
        return (
            <p class="note plain" role="status">
                {text("preview_busy")}
            </p>
        );
    const orders = data.orders ?? 0;
    if (orders === 0)
        return (
            <p class="note" role="status">
                {text("preview_none")}
            </p>
        );
    return (
        <div class="note plain" role="status">
            <p class="strong">{text(data.complete === false ? "preview_least" : "preview_orders", { n: orders })}</p>
            <p>
                {text("preview_examples")}:{" "}
                {(data.examples ?? []).slice(0, 3).map((id, index) => (
                    <span key={id}>
                        {index > 0 && ", "}
                        <a href={to("orders", id)} target="_blank" rel="noreferrer">
                            {id}
                        </a>
                    </span>
                ))}
            </p>
        </div>
    );
}

interface HowProps {
    how: How;
    onChange: (changed: Partial<How>) => void;
}

function HowFields({ how, actions, onChange }: HowProps & { actions: readonly Action[] }) {
    return (
        <>
            <Field label={text("action")}>
                {(id) => (
                    <select id={id} value={how.action} onChange={(event) => onChange({ action: event.currentTarget.value as Action })}>
                        {actions.map((action) => (
                            <option key={action} value={action}>
                                {text(`action_${action}`)}
                            </option>
                        ))}
                    </select>
                )}
            </Field>
            {how.action === "restart" && (
                <Field label={text("from")}>
                    {(id) => (
                        <select id={id} value={how.from} onChange={(event) => onChange({ from: event.currentTarget.value as How["from"] })}>
                            <option value="entry">{text("from_entry")}</option>
                            <option value="initial">{text("from_initial")}</option>
                        </select>
                    )}
                </Field>
            )}
            <PaceFields how={how} onChange={onChange} />
        </>
    );
}

function PaceFields({ how, onChange }: HowProps) {
    return (
        <>
            <Field label={text("pace")}>
                {(id) => (
                    <select id={id} value={how.pace} onChange={(event) => onChange({ pace: event.currentTarget.value as How["pace"] })}>
                        <option value="ramp">{text("pace_ramp")}</option>
                        <option value="all">{text("pace_all")}</option>
                    </select>
                )}
            </Field>
            <div class="form-columns">
                {how.pace === "ramp" && (
                    <>
                        <NumberField label={text("start")} value={how.start} min={1} onChange={(start) => onChange({ start })} />
                        <NumberField label={text("factor")} value={how.factor} min={1} onChange={(factor) => onChange({ factor })} />
                        <NumberField label={text("stop_share")} value={how.stopPercent} min={0} max={100} onChange={(stopPercent) => onChange({ stopPercent })} />
                    </>
                )}
                <NumberField label={text("rate")} hint={text("rate_hint")} value={how.rate} min={0} onChange={(rate) => onChange({ rate })} />
            </div>
        </>
    );
}

interface NumberProps {
    label: string;
    hint?: string;
    value: string;
    min: number;
    max?: number;
    onChange: (value: string) => void;
}

function NumberField({ label, hint, value, min, max, onChange }: NumberProps) {
    return (
        <Field label={label} {...(hint === undefined ? {} : { hint })}>
            {(id) => <input id={id} type="number" step="any" min={min} max={max} value={value} onInput={(event) => onChange(event.currentTarget.value)} />}
        </Field>
    );
}
