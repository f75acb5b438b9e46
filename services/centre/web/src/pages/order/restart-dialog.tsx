// Windows that let an order go on from a place of choice: by a new life, or by hand within this one.

import { useId, useState } from "preact/hooks";
import { change } from "../../api/client";
import { ActionDialog } from "../../parts/dialog";
import { Field } from "../../parts/field";
import { orderAction } from "../../text/order-actions";
import type { DialogProps } from "./actions";
import { JsonField, parsedJson } from "./json-field";
import { visited } from "./path";
import { type Order, placeOf } from "./permitted";
import { Preview } from "./preview";

/** A state of the workflow; those that the order has been in are proposed. */
function StateField({ label, hint, value, order, more = [], required, onChange }: {
    label: string;
    hint?: string;
    value: string;
    order: Order;
    more?: readonly string[];
    required?: boolean;
    onChange: (state: string) => void;
}) {
    const list = useId();
    return (
        <Field label={label} {...(hint ? { hint } : {})}>
            {(id) => (
                <>
                    <input id={id} list={list} value={value} required={required} autocomplete="off" spellcheck={false} onInput={(event) => onChange(event.currentTarget.value)} />
                    <datalist id={list}>
                        {[...more, ...visited(order)].map((state) => (
                            <option key={state} value={state} />
                        ))}
                    </datalist>
                </>
            )}
        </Field>
    );
}

function VersionField({ value, present, onChange }: { value: string; present: number; onChange: (version: string) => void }) {
    return (
        <Field label={orderAction("opt_version")} hint={orderAction("opt_version_hint", { n: String(present) })}>
            {(id) => <input id={id} type="number" min={1} step={1} value={value} onInput={(event) => onChange(event.currentTarget.value)} />}
        </Field>
    );
}

export function RestartDialog({ order, onDone, onClose }: DialogProps) {
    const [from, setFrom] = useState("");
    const [version, setVersion] = useState("");
    const [params, setParams] = useState("");
    const [ignore, setIgnore] = useState(false);
    const [keep, setKeep] = useState(false);
    const parsed = parsedJson(params, true);
    const asked = (reason: string) =>
        change("POST", "/v1/orders/{id}/restart", { id: order.id }, {
            from: from.trim() || undefined,
            scenarioVersion: version ? Number(version) : undefined,
            params: parsed.value,
            ignoreConditions: ignore || undefined,
            keepCallbacks: keep || undefined,
            ifStatus: order.status,
            reason: reason || undefined,
        });
    const box = useId();
    const keepBox = useId();
    return (
        <ActionDialog title={`${orderAction("act_restart")}: ${order.id}`} act={orderAction("act_restart")} disabled={parsed.error !== undefined} request={asked} onDone={onDone} onClose={onClose}>
            <p class="note plain">{orderAction("warn_restart")}</p>
            <StateField label={orderAction("opt_from")} hint={orderAction("opt_from_hint")} value={from} order={order} more={["initial"]} onChange={setFrom} />
            <VersionField value={version} present={order.scenarioVersion} onChange={setVersion} />
            <JsonField label={orderAction("opt_params")} hint={orderAction("opt_params_hint")} text={params} object onChange={setParams} />
            <div class="check-field">
                <input id={box} type="checkbox" checked={ignore} onChange={(event) => setIgnore(event.currentTarget.checked)} />
                <label for={box}>{orderAction("opt_ignore")}</label>
            </div>
            <div class="check-field">
                <input id={keepBox} type="checkbox" checked={keep} onChange={(event) => setKeep(event.currentTarget.checked)} />
                <label for={keepBox}>{orderAction("opt_keep")}</label>
            </div>
            <Preview request={parsed.error === undefined ? asked("") : undefined} />
        </ActionDialog>
    );
}

/** Reason that a trial carries where the API asks for one; nothing of a trial is kept. */
const OF_TRIAL = "dry run";

export function RepairDialog({ order, onDone, onClose }: DialogProps) {
    const failed = order.failedAction ?? undefined;
    const [alone, setAlone] = useState(failed !== undefined);
    const [state, setState] = useState(order.entryPoint ?? order.step ?? "");
    const [version, setVersion] = useState("");
    const [vars, setVars] = useState("");
    const box = useId();
    const parsed = parsedJson(vars, true);
    const asked = (reason: string) =>
        change("POST", "/v1/orders/{id}/repair", { id: order.id }, {
            ...(alone ? { failedAction: true } : { state: state.trim() }),
            vars: parsed.value,
            scenarioVersion: version ? Number(version) : undefined,
            reason,
        });
    const ready = parsed.error === undefined && (alone || state.trim() !== "");
    return (
        <ActionDialog title={`${orderAction("act_repair")}: ${order.id}`} act={orderAction("act_repair")} danger reason="required" disabled={!ready} request={asked} onDone={onDone} onClose={onClose}>
            <p class={alone ? "note plain" : "note bad"}>{orderAction(alone ? "warn_repair_alone" : "warn_repair")}</p>
            {failed && (
                <div class="check-field">
                    <input id={box} type="checkbox" checked={alone} onChange={(event) => setAlone(event.currentTarget.checked)} />
                    <label for={box}>{orderAction("opt_alone", { place: placeOf(failed) })}</label>
                </div>
            )}
            {!alone && <StateField label={orderAction("opt_state")} value={state} order={order} required onChange={setState} />}
            <VersionField value={version} present={order.scenarioVersion} onChange={setVersion} />
            <JsonField label={orderAction("opt_vars")} hint={orderAction("opt_vars_hint")} text={vars} object onChange={setVars} />
            <Preview request={ready ? asked(OF_TRIAL) : undefined} />
        </ActionDialog>
    );
}
