// The form of a schedule, a new one or one that is there, with its next times before it is saved.

import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { useAnswer, type Answered } from "../../api/answer";
import { change, type ApiRequest, type Schemas } from "../../api/client";
import { now } from "../../app/clock";
import { shortTime, zone, zoneChoice } from "../../app/time";
import { Button } from "../../parts/button";
import { ActionDialog } from "../../parts/dialog";
import { Time } from "../../parts/moment";
import { PreviewFailure } from "../../parts/preview";
import { whoOf } from "../../parts/who";
import { common } from "../../text/common";
import { flows } from "../../text/flows";
import { schedules as text } from "../../text/schedules";
import type { Outcome } from "../flows/outcome";
import { Fields } from "./fields";
import { bodyOf, draftOf, newDraft, type Draft, type Schedule } from "./rule";

type ScheduleOutcome = Schemas["ScheduleOutcome"];

interface Props {
    onClose: () => void;
    onDone: (outcome: Outcome) => void;
}

export function CreateDialog({ onClose, onDone }: Props) {
    const [draft, setDraft] = useState<Draft>(() => newDraft(zone.value));
    const request = (reason: string, dryRun?: boolean) => change("POST", "/v1/schedules", {}, bodyOf(draft, reason, zoneChoice.value === "utc"), { dryRun });
    return (
        <ScheduleDialog
            title={text("add_title")}
            act={text("add_act")}
            draft={draft}
            set={(changes) => setDraft((before) => ({ ...before, ...changes }))}
            request={request}
            onDone={(made) => onDone({ words: text("outcome_added", { schedule: made.schedule }), confirmed: true })}
            onClose={onClose}
        />
    );
}

/** `schedule` is what the server has by now. What is typed stays, and is saved over the version that the reader knows. */
export function EditDialog({ schedule, onClose, onDone }: Props & { schedule: Schedule }) {
    const isUtc = zoneChoice.value === "utc";
    const [known, setKnown] = useState(schedule);
    const [draft, setDraft] = useState<Draft>(() => draftOf(schedule, isUtc));
    const { name } = schedule;
    const request = (reason: string, dryRun?: boolean) => {
        const put = change("PUT", "/v1/schedules/{name}", { name }, bodyOf(draft, reason, isUtc), { dryRun });
        return dryRun ? put : { ...put, headers: { "if-match": `"${known.tag}"` } };
    };
    const takeOver = () => {
        setKnown(schedule);
        setDraft(draftOf(schedule, isUtc));
    };
    return (
        <ScheduleDialog
            title={text("edit_title", { schedule: name })}
            act={text("edit_act")}
            draft={draft}
            set={(changes) => setDraft((before) => ({ ...before, ...changes }))}
            isThere
            request={request}
            onDone={() => onDone({ words: text("outcome_changed", { schedule: name }), confirmed: true })}
            onClose={onClose}
            note={schedule.tag !== known.tag && <Changed schedule={schedule} keep={() => setKnown(schedule)} takeOver={takeOver} />}
        />
    );
}

/** Somebody else has changed the schedule while this one types. */
function Changed({ schedule, keep, takeOver }: { schedule: Schedule; keep: () => void; takeOver: () => void }) {
    const by = whoOf(schedule.changedBy) ?? common("none");
    return (
        <div class="note" role="alert">
            <p>{text("edit_changed", { by, time: shortTime(schedule.changedAt, now.value) })}</p>
            <p class="row">
                <Button small onClick={keep}>
                    {text("edit_keep")}
                </Button>
                <Button small onClick={takeOver}>
                    {text("edit_take_over")}
                </Button>
            </p>
        </div>
    );
}

interface ScheduleDialogProps {
    title: string;
    act: string;
    draft: Draft;
    set: (changes: Partial<Draft>) => void;
    /** The schedule has its name already. */
    isThere?: boolean;
    request: (reason: string, dryRun?: boolean) => ApiRequest;
    onDone: (answer: ScheduleOutcome) => void;
    onClose: () => void;
    note?: ComponentChildren;
}

function ScheduleDialog({ title, act, draft, set, isThere = false, request, onDone, onClose, note }: ScheduleDialogProps) {
    const isWhole = bodyOf(draft, "", true) !== undefined;
    const preview = useAnswer<ScheduleOutcome>(isWhole ? request("", true) : null);
    const answer = preview.busy ? undefined : preview.data;
    const hasTimes = answer !== undefined && answer.next.length > 0;
    return (
        <ActionDialog<ScheduleOutcome> title={title} act={act} disabled={!hasTimes || answer.change === "unchanged"} request={(reason) => request(reason)} onDone={onDone} onClose={onClose}>
            {note}
            <Fields draft={draft} set={set} isThere={isThere} />
            <Next isWhole={isWhole} preview={preview} answer={answer} />
        </ActionDialog>
    );
}

function Next({ isWhole, preview, answer }: { isWhole: boolean; preview: Answered<ScheduleOutcome>; answer: ScheduleOutcome | undefined }) {
    return (
        <section class="preview" aria-live="polite" aria-busy={preview.busy}>
            <h3>{text("next")}</h3>
            {!isWhole && <p class="faint">{text("incomplete")}</p>}
            {preview.busy && <p>{flows("preview_busy")}</p>}
            {preview.failure && <PreviewFailure failure={preview.failure} />}
            {isWhole && answer && (
                <>
                    <ul>
                        {answer.next.map((at) => (
                            <li key={at}>
                                <Time at={at} />
                            </li>
                        ))}
                    </ul>
                    {answer.next.length === 0 && <p>{text("over")}</p>}
                    {answer.change === "unchanged" && <p class="faint">{text("edit_unchanged")}</p>}
                </>
            )}
        </section>
    );
}
