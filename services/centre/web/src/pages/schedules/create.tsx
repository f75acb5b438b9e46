// The form of a new schedule, with its next times before it is made.

import { useState } from "preact/hooks";
import { useAnswer } from "../../api/answer";
import { change, type Schemas } from "../../api/client";
import { zone } from "../../app/time";
import { ActionDialog } from "../../parts/dialog";
import { DurationField, Field, Select } from "../../parts/field";
import { Time } from "../../parts/moment";
import { PreviewFailure } from "../../parts/preview";
import { flows } from "../../text/flows";
import { schedules as text } from "../../text/schedules";
import type { Outcome } from "../flows/outcome";
import { bodyOf, newDraft, type Draft } from "./rule";

type ScheduleOutcome = Schemas["ScheduleOutcome"];
type Change = (changes: Partial<Draft>) => void;

export function CreateDialog({ onClose, onDone }: { onClose: () => void; onDone: (outcome: Outcome) => void }) {
    const [draft, setDraft] = useState<Draft>(() => newDraft(zone.value));
    const set: Change = (changes) => setDraft((before) => ({ ...before, ...changes }));
    const probe = bodyOf(draft, "");
    const preview = useAnswer<ScheduleOutcome>(probe ? change("POST", "/v1/schedules", {}, probe, { dryRun: true }) : null);
    const answer = preview.busy ? undefined : preview.data;
    return (
        <ActionDialog<ScheduleOutcome>
            title={text("add_title")}
            act={text("add_act")}
            disabled={!answer?.next.length}
            request={(reason) => change("POST", "/v1/schedules", {}, bodyOf(draft, reason))}
            onDone={(made) => onDone({ words: text("outcome_added", { schedule: made.schedule }), confirmed: true })}
            onClose={onClose}
        >
            <Line name="name" hint={text("name_hint")} draft={draft} set={set} required />
            <When draft={draft} set={set} />
            <Policies draft={draft} set={set} />
            <Field label={text("order_text")} hint={text("order_text_hint")}>
                {(id) => <textarea id={id} rows={5} spellcheck={false} value={draft.order} required onInput={(event) => set({ order: event.currentTarget.value })} />}
            </Field>
            <Line name="note" draft={draft} set={set} />
            <section class="preview" aria-live="polite" aria-busy={preview.busy}>
                <h3>{text("next")}</h3>
                {!probe && <p class="faint">{text("incomplete")}</p>}
                {preview.busy && <p>{flows("preview_busy")}</p>}
                {preview.failure && <PreviewFailure failure={preview.failure} />}
                {probe && answer && (
                    <ul>
                        {answer.next.map((at) => (
                            <li key={at}>
                                <Time at={at} />
                            </li>
                        ))}
                    </ul>
                )}
            </section>
        </ActionDialog>
    );
}

function Line({ name, hint, draft, set, required }: { name: "name" | "cron" | "zone" | "note"; hint?: string; draft: Draft; set: Change; required?: boolean }) {
    return (
        <Field label={text(name)} {...(hint ? { hint } : {})}>
            {(id) => <input id={id} value={draft[name]} required={required} autocomplete="off" onInput={(event) => set({ [name]: event.currentTarget.value })} />}
        </Field>
    );
}

function When({ draft, set }: { draft: Draft; set: Change }) {
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

function Policies({ draft, set }: { draft: Draft; set: Change }) {
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
                {draft.policy !== "skip" && <DurationField label={text("within")} value={draft.within} required onInput={(within) => set({ within })} />}
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
