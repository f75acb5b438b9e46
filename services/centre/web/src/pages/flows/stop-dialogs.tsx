// Stopping and resuming of flows by hand, with what it will hit before it does.

import { useState } from "preact/hooks";
import { useAnswer, type Answered } from "../../api/answer";
import { change, type Schemas } from "../../api/client";
import { ActionDialog } from "../../parts/dialog";
import { DurationField, Field } from "../../parts/field";
import { PreviewFailure } from "../../parts/preview";
import { flows as text } from "../../text/flows";
import { flowStop } from "../../text/flow-stops";
import type { Outcome } from "./outcome";

type StopOutcome = Schemas["StopOutcome"];

interface Props {
    onClose: () => void;
    onDone: (outcome: Outcome) => void;
}

export function StopDialog({ keyword: given = "", onClose, onDone }: Props & { keyword?: string }) {
    const [keyword, setKeyword] = useState(given);
    const [length, setLength] = useState("");
    const [resume, setResume] = useState(true);
    const body = (reason: string, dryRun: boolean) => ({ keyword, reason, dryRun, ...(length ? { for: length, resume } : {}) });
    const preview = useAnswer<StopOutcome>(keyword ? change("POST", "/v1/flows/stop", {}, body(text("reason_probe"), true)) : null);
    return (
        <ActionDialog<StopOutcome>
            title={flowStop("stop_title")}
            act={text("stop_act")}
            danger
            reason="required"
            disabled={preview.busy || !preview.data}
            request={(reason) => change("POST", "/v1/flows/stop", {}, body(reason, false))}
            onDone={(answer) => onDone(stopped(answer))}
            onClose={onClose}
        >
            <Field label={text("keyword")} hint={text("keyword_hint")}>
                {(id) => <input id={id} value={keyword} required onInput={(event) => setKeyword(event.currentTarget.value)} />}
            </Field>
            <DurationField label={text("duration_for")} hint={text("duration_hint")} value={length} onInput={setLength} />
            {length && (
                <p>
                    <label class="check">
                        <input type="checkbox" checked={resume} onInput={(event) => setResume(event.currentTarget.checked)} />
                        {flowStop("resume_self")}
                    </label>
                </p>
            )}
            <Hit preview={preview} later />
        </ActionDialog>
    );
}

function stopped(answer: StopOutcome): Outcome {
    const words = flowStop("outcome_stopped", { stop: answer.stops.join(", "), n: answer.flows.length });
    return { words, confirmed: answer.confirmed, shift: answer.shift };
}

export function ResumeDialog({ stop, keyword, onClose, onDone }: Props & { stop: number; keyword: string }) {
    const preview = useAnswer<StopOutcome>(change("POST", "/v1/flows/resume", {}, { stop, reason: text("reason_probe"), dryRun: true }));
    return (
        <ActionDialog<StopOutcome>
            title={flowStop("resume_title", { stop, keyword })}
            act={flowStop("resume")}
            reason="required"
            request={(reason) => change("POST", "/v1/flows/resume", {}, { stop, reason })}
            onDone={(answer) => onDone({ words: flowStop("outcome_resumed", { n: answer.flows.length }), confirmed: answer.confirmed })}
            onClose={onClose}
        >
            <p>{flowStop("resume_effect")}</p>
            <Hit preview={preview} />
        </ActionDialog>
    );
}

/** Flows that are hit, and orders that move; of a stop (`later`) also those that are not known yet. */
function Hit({ preview, later }: { preview: Answered<StopOutcome>; later?: boolean }) {
    const { data, failure, busy } = preview;
    const answer = busy ? undefined : data;
    if (!answer && !failure && !busy) return null;
    return (
        <section class="preview" aria-live="polite" aria-busy={busy}>
            <h3>{text("preview")}</h3>
            {busy && <p>{text("preview_busy")}</p>}
            {failure && <PreviewFailure failure={failure} />}
            {answer && <HitFlows names={answer.flows} more={answer.moreFlows} later={later} />}
            {answer && answer.flows.length > 0 && <p>{flowStop("hit_ready", { n: answer.ready ?? 0 })}</p>}
            {answer?.shift && <p>{flowStop(answer.shift.more ? "preview_shift_more" : "preview_shift", { n: answer.shift.orders })}</p>}
        </section>
    );
}

/** Names of flows that are hit. */
export function HitFlows({ names, more, later }: { names: readonly string[]; more?: boolean | undefined; later?: boolean | undefined }) {
    if (names.length === 0 && later) return <p>{flowStop("hit_none")}</p>;
    return (
        <>
            <p class="strong">{flowStop("hit", { n: names.length })}</p>
            <div class="scrolling" role="region" aria-label={text("flows")} tabIndex={0}>
                <ul>
                    {names.map((name) => (
                        <li key={name}>
                            <code>{name}</code>
                        </li>
                    ))}
                </ul>
            </div>
            {more && <p>{flowStop("hit_more")}</p>}
        </>
    );
}
