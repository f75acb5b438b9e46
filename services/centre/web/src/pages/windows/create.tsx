// The form of a new window, with its next times and the flows that it stops before it is set.

import { useState } from "preact/hooks";
import { useAnswer } from "../../api/answer";
import { change, read, type Schemas } from "../../api/client";
import { asCommand } from "../../api/command";
import { useResource } from "../../api/resource";
import { query } from "../../app/router";
import { zone } from "../../app/time";
import { common } from "../../text/common";
import { flows } from "../../text/flows";
import { windows as text } from "../../text/windows";
import { ActionDialog } from "../../parts/dialog";
import { DurationField, Field, Select } from "../../parts/field";
import { CopyLine } from "../../parts/page";
import { PreviewFailure } from "../../parts/preview";
import { HitFlows } from "../flows/stop-dialogs";
import type { Outcome } from "../flows/outcome";
import { bodyOf, commandOf, newDraft, type Body, type Draft } from "./draft";
import { Times } from "./details";
import { WEEKDAYS } from "./occurrences";
import { weekdayName } from "./parts";

type WindowOutcome = Schemas["WindowOutcome"];
type Change = (changes: Partial<Draft>) => void;

export function CreateDialog({ onClose, onDone }: { onClose: () => void; onDone: (outcome: Outcome) => void }) {
    const kind = query.value.get("new") === "system" ? "system" : "flow";
    const [draft, setDraft] = useState<Draft>(() => newDraft(kind, query.value.get("target") ?? "", zone.value));
    const set: Change = (changes) => setDraft((before) => ({ ...before, ...changes }));
    const probe = bodyOf(draft, zone.value, flows("reason_probe"), true);
    const preview = useAnswer<WindowOutcome>(probe ? change("POST", "/v1/windows", {}, probe) : null);
    const answer = preview.busy ? undefined : preview.data;
    return (
        <ActionDialog<WindowOutcome>
            title={text("add_title")}
            act={text("add_act")}
            reason="required"
            disabled={!answer?.next.length}
            request={(reason) => change("POST", "/v1/windows", {}, bodyOf(draft, zone.value, reason, false))}
            onDone={(answer) => onDone({ words: text("outcome_added", { window: answer.window ?? "" }), confirmed: answer.confirmed })}
            onClose={onClose}
        >
            <What draft={draft} set={set} />
            <When draft={draft} set={set} />
            <section class="preview" aria-live="polite" aria-busy={preview.busy}>
                <h3>{flows("preview")}</h3>
                {!probe && <p class="faint">{text("incomplete")}</p>}
                {preview.busy && <p>{flows("preview_busy")}</p>}
                {preview.failure && <PreviewFailure failure={preview.failure} />}
                {probe && answer && <Effect body={probe} answer={answer} />}
            </section>
        </ActionDialog>
    );
}

function Effect({ body, answer }: { body: Body; answer: WindowOutcome }) {
    const times = answer.next.map((one) => ({ from: Date.parse(one.from), until: Date.parse(one.until) }));
    return (
        <>
            {times.length === 0 ? <p>{text("preview_none")}</p> : <Times rule={body} times={times} />}
            {body.flow && <HitFlows names={answer.flows ?? []} more={answer.moreFlows} later />}
            <CopyLine name={common("as_command")} text={asCommand(commandOf({ ...body, reason: "" }))} />
        </>
    );
}

function What({ draft, set }: { draft: Draft; set: Change }) {
    const systems = useResource<Schemas["PageOfSystemView"]>(draft.kind === "system" ? read("/v1/systems", {}, { limit: 100 }) : null, { every: 0 });
    return (
        <>
            <fieldset class="choices">
                <legend>{text("kind")}</legend>
                {(["flow", "system"] as const).map((kind) => (
                    <label key={kind}>
                        <input type="radio" name="kind" checked={draft.kind === kind} onInput={() => set({ kind, target: "" })} />
                        {text(kind)}
                    </label>
                ))}
            </fieldset>
            <Field label={draft.kind === "flow" ? flows("keyword") : text("system")} hint={draft.kind === "flow" ? flows("keyword_hint") : text("system_hint")}>
                {(id) => (
                    <>
                        <input id={id} list={`${id}-names`} value={draft.target} required onInput={(event) => set({ target: event.currentTarget.value })} />
                        <datalist id={`${id}-names`}>
                            {(systems.data?.items ?? []).map(({ system }) => (
                                <option key={system} value={system} />
                            ))}
                        </datalist>
                    </>
                )}
            </Field>
            {draft.kind === "flow" && (
                <p>
                    <label class="check">
                        <input type="checkbox" checked={draft.shift} onInput={(event) => set({ shift: event.currentTarget.checked })} />
                        {text("shift")}
                    </label>
                </p>
            )}
        </>
    );
}

function When({ draft, set }: { draft: Draft; set: Change }) {
    const every = ["", "day", "week", "month"] as const;
    const bound = (name: "from" | "until", hint: string) => (
        <Field label={text(name)} hint={hint}>
            {(id) => <input id={id} type="datetime-local" value={draft[name]} onInput={(event) => set({ [name]: event.currentTarget.value })} />}
        </Field>
    );
    return (
        <>
            <div class="field">
                <Select
                    label={text("every")}
                    value={draft.every}
                    options={every.map((value) => ({ value, text: text(value ? `every_${value}` : "every_once") }))}
                    onChange={(value) => set({ every: value })}
                />
            </div>
            {draft.every === "week" && <Weekdays draft={draft} set={set} />}
            {draft.every === "month" && (
                <Field label={text("month_days")} hint={text("month_days_hint")}>
                    {(id) => <input id={id} value={draft.monthDays} required onInput={(event) => set({ monthDays: event.currentTarget.value })} />}
                </Field>
            )}
            <div class="pair">
                {draft.every && <Clock draft={draft} set={set} />}
                <DurationField label={text("for")} hint={text("for_hint")} value={draft.length} required onInput={(length) => set({ length })} />
                {bound("from", text(draft.every ? "from_hint_every" : "from_hint", { zone: zone.value }))}
                {draft.every && bound("until", text("until_hint", { zone: zone.value }))}
            </div>
        </>
    );
}

function Weekdays({ draft, set }: { draft: Draft; set: Change }) {
    const toggle = (day: string, on: boolean) => set({ weekdays: on ? [...draft.weekdays, day] : draft.weekdays.filter((one) => one !== day) });
    return (
        <fieldset class="choices">
            <legend>{text("days")}</legend>
            {WEEKDAYS.map((day, index) => (
                <label key={day}>
                    <input type="checkbox" checked={draft.weekdays.includes(day)} onInput={(event) => toggle(day, event.currentTarget.checked)} />
                    {weekdayName(index, "long")}
                </label>
            ))}
        </fieldset>
    );
}

function Clock({ draft, set }: { draft: Draft; set: Change }) {
    const [zones] = useState(() => ["UTC", ...Intl.supportedValuesOf("timeZone")]);
    return (
        <>
            <Field label={text("at")}>
                {(id) => <input id={id} type="time" value={draft.at} required onInput={(event) => set({ at: event.currentTarget.value })} />}
            </Field>
            <Field label={text("zone")} hint={text("zone_hint")}>
                {(id) => (
                    <>
                        <input id={id} list={`${id}-zones`} value={draft.zone} required onInput={(event) => set({ zone: event.currentTarget.value })} />
                        <datalist id={`${id}-zones`}>
                            {zones.map((one) => (
                                <option key={one} value={one} />
                            ))}
                        </datalist>
                    </>
                )}
            </Field>
        </>
    );
}
