// One window over the page: all facts, its next times, and what can be done about it.

import { useState } from "preact/hooks";
import { change, read, type Schemas } from "../../api/client";
import { useResource } from "../../api/resource";
import { now } from "../../app/clock";
import { duration, shortTime, zone } from "../../app/time";
import { Button } from "../../parts/button";
import { ActionDialog, Dialog } from "../../parts/dialog";
import { Facts } from "../../parts/facts";
import { Panel } from "../../parts/panel";
import { whoOf } from "../../parts/who";
import { common } from "../../text/common";
import { windows as text } from "../../text/windows";
import type { Outcome } from "../flows/outcome";
import { isMoved } from "./draft";
import { occurrences, type Rule, type Window } from "./occurrences";
import { ruleText, Target, WindowState } from "./parts";
import { spanText } from "./words";

/** Days over which next times are looked for: the 31st of a month may be two months away. */
const AHEAD = 400 * 86_400_000;
const SHOWN = 5;

type Act = "end" | "skip" | "remove";

interface Props {
    no: number;
    onClose: () => void;
    onDone: (outcome: Outcome) => void;
}

export function WindowDetails({ no, onClose, onDone }: Props) {
    const window = useResource<Window>(read("/v1/windows/{no}", { no }));
    const [act, setAct] = useState<Act>();
    return (
        <Dialog title={text("facts_title", { window: no })} onClose={onClose}>
            <div class="dialog-body">
                <Panel bare resource={window} level={3}>
                    {(data) => <WindowFacts window={data} fresh={window.state === "fresh"} />}
                </Panel>
            </div>
            {window.data && !window.data.removedAt && <Acts window={window.data} choose={setAct} />}
            {act && window.data && <ActDialog act={act} window={window.data} onClose={() => setAct(undefined)} onDone={onDone} />}
        </Dialog>
    );
}

function WindowFacts({ window, fresh }: { window: Window; fresh: boolean }) {
    const time = (at: string) => shortTime(at, now.value);
    const bounds = [
        window.calendar.every && window.calendar.from && text("rule_from", { time: time(window.calendar.from) }),
        window.calendar.until && text("rule_until", { time: time(window.calendar.until) }),
    ].filter(Boolean);
    const by = (who: unknown, at: string) => text("made_by", { by: whoOf(who) ?? common("none"), time: time(at) });
    return (
        <>
            <Facts
                facts={[
                    [text("what"), <Target window={window} />],
                    [text("state"), <WindowState window={window} fresh={fresh} />],
                    [text("rule"), [ruleText(window.calendar), ...bounds].join(", ")],
                    [text("shift_fact"), window.flow && text(window.shift ? "shift_yes" : "shift_no")],
                    [common("reason"), window.reason],
                    [text("made"), by(window.by, window.madeAt)],
                    [text("removed"), window.removedAt && `${by(window.removedBy, window.removedAt)}: ${window.removeReason ?? ""}`],
                ]}
            />
            <NextTimes window={window} />
        </>
    );
}

function NextTimes({ window }: { window: Window }) {
    const at = Date.now();
    const next = window.removedAt ? [] : occurrences([window], at, at + AHEAD, at).slice(0, SHOWN);
    if (next.length === 0) return null;
    return (
        <section class="preview next-times">
            <h3>{text("next_times")}</h3>
            <Times rule={window.calendar} times={next} />
        </section>
    );
}

/** Times of a window, with the offset of each, so that a change of the clocks between two of them is seen. */
export function Times({ rule, times }: { rule: Rule; times: readonly { from: number; until: number; off?: boolean }[] }) {
    return (
        <ul>
            {times.map(({ from, until, off }) => (
                <li key={from}>
                    <span class={off ? "number off" : "number"}>{spanText(zone.value, from, until)}</span> <span class="faint">{duration(until - from)}</span>
                    {off && ` ${text("off")}`}
                    {isMoved(rule, from) && <span class="warn-text"> {text("moved", { at: rule.at ?? "" })}</span>}
                </li>
            ))}
        </ul>
    );
}

function Acts({ window, choose }: { window: Window; choose: (act: Act) => void }) {
    return (
        <footer class="dialog-foot">
            <Button kind="danger" needs="operator" onClick={() => choose("remove")}>
                {text("remove")}
            </Button>
            {window.next && (
                <Button needs="operator" onClick={() => choose("skip")}>
                    {text("skip")}
                </Button>
            )}
            {window.open && (
                <Button kind="primary" needs="operator" onClick={() => choose("end")}>
                    {text("end")}
                </Button>
            )}
        </footer>
    );
}

const ACTS = {
    end: { title: "end_title", effect: "end_effect", act: "end", outcome: "outcome_ended" },
    skip: { title: "skip_title", effect: "skip_effect", act: "skip", outcome: "outcome_skipped" },
    remove: { title: "remove_title", effect: "remove_effect", act: "remove", outcome: "outcome_removed" },
} as const;

function ActDialog({ act, window, onClose, onDone }: { act: Act; window: Window; onClose: () => void; onDone: (outcome: Outcome) => void }) {
    const words = ACTS[act];
    const no = window.window;
    const span = window.next ? spanText(zone.value, Date.parse(window.next.from), Date.parse(window.next.until)) : "";
    return (
        <ActionDialog<Schemas["WindowOutcome"]>
            title={text(words.title, { window: no })}
            act={text(words.act)}
            danger={act === "remove"}
            reason="required"
            request={(reason) => change("POST", `/v1/windows/{no}/${act}`, { no }, { reason })}
            onDone={(answer) => onDone({ words: text(words.outcome, { window: no }), confirmed: answer.confirmed, undo: answer.shift ?? undefined })}
            onClose={onClose}
        >
            <p>{text(words.effect, { span })}</p>
        </ActionDialog>
    );
}
