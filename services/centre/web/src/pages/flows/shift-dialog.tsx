// Moving in time what waits or retries, and taking such a move back.

import { useState } from "preact/hooks";
import { useAnswer } from "../../api/answer";
import { change, type Schemas } from "../../api/client";
import { ActionDialog } from "../../parts/dialog";
import { DurationField, Field } from "../../parts/field";
import { PreviewFailure } from "../../parts/preview";
import { flows as text } from "../../text/flows";
import { flowStop } from "../../text/flow-stops";
import { UndoDialog, type Outcome } from "./outcome";

type Shift = Schemas["ShiftOutcome"];

interface Props {
    onClose: () => void;
    onDone: (outcome: Outcome) => void;
}

export function ShiftDialog({ keyword: given = "", onClose, onDone }: Props & { keyword?: string }) {
    const [flow, setFlow] = useState(given);
    const [by, setBy] = useState("");
    const body = (reason: string, dryRun: boolean) => ({ flow, by, reason, dryRun });
    const preview = useAnswer<Shift>(flow && by ? change("POST", "/v1/flows/shift", {}, body(text("reason_probe"), true)) : null);
    const { failure, busy } = preview;
    const answer = busy ? undefined : preview.data;
    return (
        <ActionDialog<Shift>
            title={flowStop("shift_title")}
            act={flowStop("shift_act")}
            reason="required"
            disabled={!answer}
            request={(reason) => change("POST", "/v1/flows/shift", {}, body(reason, false))}
            onDone={(shift) => onDone({ words: "", confirmed: true, shift })}
            onClose={onClose}
        >
            <p>{flowStop("shift_effect")}</p>
            <Field label={text("keyword")} hint={text("keyword_hint")}>
                {(id) => <input id={id} value={flow} required onInput={(event) => setFlow(event.currentTarget.value)} />}
            </Field>
            <DurationField label={flowStop("shift_by")} hint={flowStop("shift_by_hint")} value={by} required onInput={setBy} />
            {(answer || failure || busy) && (
                <section class="preview" aria-live="polite" aria-busy={busy}>
                    <h3>{text("preview")}</h3>
                    {busy && <p>{text("preview_busy")}</p>}
                    {failure && <PreviewFailure failure={failure} />}
                    {answer && <p class="strong">{flowStop(answer.more ? "preview_shift_more" : "preview_shift_alone", { n: answer.orders })}</p>}
                </section>
            )}
        </ActionDialog>
    );
}

/** Takes a shift back whose number is known from an answer, or from the history of an order. */
export function UndoByNumber({ onClose, onDone }: Props) {
    const [no, setNo] = useState("");
    return (
        <UndoDialog shift={Number(no)} onClose={onClose} onOutcome={onDone}>
            <Field label={flowStop("shift_undo_no")}>
                {(id) => <input id={id} inputMode="numeric" pattern="[0-9]+" value={no} required onInput={(event) => setNo(event.currentTarget.value)} />}
            </Field>
        </UndoDialog>
    );
}
