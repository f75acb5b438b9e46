// Fields of a bulk operation.

import type { Failure } from "../../api/client";
import { orders as text } from "../../text/orders";
import { Field, Select } from "../../parts/field";
import { ACTIONS, FIELDS, objectOf, type Action, type ActionField, type Draft } from "./bulk";

interface Props {
    draft: Draft;
    onChange: (part: Partial<Draft>) => void;
}

type TextField = Exclude<keyof Draft, "ignore" | "alone" | "action">;

export function ActionChoice({ draft, onChange }: Props) {
    return (
        <p>
            <Select<Action>
                label={text("bulk_action")}
                value={draft.action}
                options={ACTIONS.map((action) => ({ value: action, text: action }))}
                onChange={(action) => onChange({ action })}
            />
        </p>
    );
}

/** Names of the fields in the action's own request: a refusal points to them. */
const POINTERS: Readonly<Partial<Record<TextField, string>>> = {
    from: "from",
    version: "scenarioVersion",
    state: "state",
    priority: "priority",
    by: "by",
};

export function ActionFields({ draft, onChange, failure }: Props & { failure: Failure | undefined }) {
    const has = (field: ActionField) => FIELDS[draft.action]?.includes(field) ?? false;
    const errorOf = (field: TextField) => (failure?.pointer === `/with/${POINTERS[field]}` ? failure.message : undefined);
    return (
        <>
            <div class="field-grid">
                {has("from") && (
                    <TextInput
                        field="from"
                        hint={text("bulk_from_hint")}
                        label={text("bulk_from")}
                        {...{ draft, onChange }}
                        error={errorOf("from")}
                    />
                )}
                {has("state") && !(has("alone") && draft.alone) && <TextInput field="state" label={text("bulk_state")} required {...{ draft, onChange }} error={errorOf("state")} />}
                {has("by") && (
                    <TextInput
                        field="by"
                        label={text("bulk_by")}
                        hint={text("bulk_by_hint")}
                        required
                        {...{ draft, onChange }}
                        error={errorOf("by")}
                    />
                )}
                {has("version") && (
                    <TextInput
                        field="version"
                        number
                        label={text("bulk_version")}
                        hint={text("bulk_version_hint")}
                        {...{ draft, onChange }}
                        error={errorOf("version")}
                    />
                )}
            </div>
            {has("priority") && (
                <p>
                    <Select
                        label={text("bulk_priority")}
                        value={draft.priority}
                        options={[{ value: "", text: text("bulk_unchanged") }, ...["high", "normal", "low"].map((value) => ({ value, text: value }))]}
                        onChange={(priority) => onChange({ priority })}
                    />
                </p>
            )}
            {has("alone") && <Flag label={text("bulk_alone")} checked={draft.alone} onChange={(alone) => onChange({ alone })} />}
            {has("ignore") && <Flag label={text("bulk_ignore")} checked={draft.ignore} onChange={(ignore) => onChange({ ignore })} />}
            <details>
                <summary>{text("bulk_json")}</summary>
                <Field label={text("bulk_json")} error={objectOf(draft.more) ? undefined : text("bulk_json_wrong")}>
                    {(id) => (
                        <textarea
                            id={id}
                            rows={3}
                            spellcheck={false}
                            value={draft.more}
                            onInput={(event) => onChange({ more: event.currentTarget.value })}
                        />
                    )}
                </Field>
            </details>
        </>
    );
}

function Flag({ label, checked, onChange }: { label: string; checked: boolean; onChange: (checked: boolean) => void }) {
    return (
        <label class="check">
            <input type="checkbox" checked={checked} onChange={(event) => onChange(event.currentTarget.checked)} />
            {label}
        </label>
    );
}

interface TextProps extends Props {
    field: TextField;
    label: string;
    hint?: string;
    number?: boolean;
    required?: boolean;
    error?: string | undefined;
}

function TextInput({ field, label, hint, number, required, error, draft, onChange }: TextProps) {
    return (
        <Field label={label} error={error} {...(hint ? { hint } : {})}>
            {(id) => (
                <input
                    id={id}
                    inputMode={number ? "decimal" : "text"}
                    pattern={number ? "[0-9]+([.][0-9]+)?" : undefined}
                    required={required}
                    autocomplete="off"
                    value={draft[field]}
                    onInput={(event) => onChange({ [field]: event.currentTarget.value })}
                />
            )}
        </Field>
    );
}

export function Pace({ draft, onChange }: Props) {
    const isRamped = draft.rampStart.trim() !== "";
    return (
        <details>
            <summary>{text("bulk_pace")}</summary>
            <div class="field-grid">
                <TextInput field="rate" number label={text("bulk_rate")} hint={text("bulk_pace_usual")} {...{ draft, onChange }} />
                <TextInput field="rampStart" number label={text("bulk_ramp")} hint={text("bulk_ramp_hint")} {...{ draft, onChange }} />
                {isRamped && <TextInput field="rampFactor" number required label={text("bulk_factor")} {...{ draft, onChange }} />}
                {isRamped && <TextInput field="stopIf" number label={text("bulk_stop")} {...{ draft, onChange }} />}
                <TextInput field="follow" label={text("bulk_follow")} hint={text("bulk_follow_hint")} {...{ draft, onChange }} />
            </div>
            <p>
                <Select
                    label={text("bulk_urgency")}
                    value={draft.urgency}
                    options={["", "high", "low"].map((value) => ({ value, text: value || "normal" }))}
                    onChange={(urgency) => onChange({ urgency })}
                />
            </p>
        </details>
    );
}
