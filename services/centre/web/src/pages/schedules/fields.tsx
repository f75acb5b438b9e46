// The fields of a schedule.

import { zone } from "../../app/time";
import { DurationField, Field, Select } from "../../parts/field";
import { schedules as text } from "../../text/schedules";
import type { Draft } from "./rule";

interface Props {
    draft: Draft;
    set: (changes: Partial<Draft>) => void;
}

export function Fields({ draft, set, isThere }: Props & { isThere: boolean }) {
    return (
        <>
            {!isThere && <Line name="name" hint={text("name_hint")} draft={draft} set={set} required />}
            <When draft={draft} set={set} />
            <Bounds draft={draft} set={set} />
            <Policies draft={draft} set={set} />
            <Field label={text("order_text")} hint={text("order_text_hint")}>
                {(id) => <textarea id={id} rows={Math.min(12, Math.max(5, draft.order.split("\n").length))} spellcheck={false} value={draft.order} required onInput={(event) => set({ order: event.currentTarget.value })} />}
            </Field>
            <Line name="note" draft={draft} set={set} />
        </>
    );
}

function Line({ name, hint, draft, set, required }: Props & { name: "name" | "cron" | "zone" | "note"; hint?: string; required?: boolean }) {
    return (
        <Field label={text(name)} {...(hint ? { hint } : {})}>
            {(id) => <input id={id} value={draft[name]} required={required} autocomplete="off" onInput={(event) => set({ [name]: event.currentTarget.value })} />}
        </Field>
    );
}

function When({ draft, set }: Props) {
    return (
        <>
            <fieldset class="choices">
                <legend>{text("kind")}</legend>
                {(["cron", "every"] as const).map((kind) => (
                    <label key={kind}>
                        <input type="radio" name="kind" checked={draft.kind === kind} onInput={() => set({ kind })} />
                        {text(`kind_${kind}`)}
                    </label>
                ))}
            </fieldset>
            <div class="pair">
                {draft.kind === "cron" ? (
                    <Line name="cron" hint={text("cron_hint")} draft={draft} set={set} required />
                ) : (
                    <DurationField label={text("every")} hint={text("every_hint")} value={draft.every} required onInput={(every) => set({ every })} />
                )}
                <Line name="zone" draft={draft} set={set} />
            </div>
        </>
    );
}

/** Times outside of which no order is due, and those that are left out. */
function Bounds({ draft, set }: Props) {
    return (
        <>
            <div class="pair">
                {(["from", "until"] as const).map((name) => (
                    <Field key={name} label={text(name)} hint={text(`${name}_hint`, { zone: zone.value })}>
                        {(id) => <input id={id} type="datetime-local" step={1} value={draft[name]} onInput={(event) => set({ [name]: event.currentTarget.value })} />}
                    </Field>
                ))}
            </div>
            <Field label={text("exceptions")} hint={text("exceptions_hint")}>
                {(id) => <textarea id={id} rows={2} spellcheck={false} value={draft.exceptions} onInput={(event) => set({ exceptions: event.currentTarget.value })} />}
            </Field>
        </>
    );
}

function Policies({ draft, set }: Props) {
    return (
        <>
            <div class="pair">
                <div class="field">
                    <Select
                        label={text("catch_up")}
                        value={draft.policy}
                        options={(["one", "all", "skip"] as const).map((value) => ({ value, text: text(`catch_up_${value}`) }))}
                        onChange={(policy) => set({ policy })}
                    />
                </div>
                {draft.policy !== "skip" && <DurationField label={text("within")} hint={text("within_hint")} value={draft.within} onInput={(within) => set({ within })} />}
            </div>
            <div class="field">
                <Select
                    label={text("overlap")}
                    value={draft.overlap}
                    options={(["skip", "queue", "replace", "allow"] as const).map((value) => ({ value, text: text(`overlap_${value}`) }))}
                    onChange={(overlap) => set({ overlap })}
                />
            </div>
        </>
    );
}
