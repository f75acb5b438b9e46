// The graph of the text, with the place of the order at a step of its story.

import { type Schemas } from "../../api/client";
import { query, setQuery } from "../../app/router";
import { Button } from "../../parts/button";
import { Graph } from "../../parts/graph";
import { Icon } from "../../parts/icon";
import { Said } from "../../parts/said";
import { workbench as text } from "../../text/workbench";
import { yamlRequest, type Bench } from "./bench";
import { drawnAt, spelled, staysOf, widthOf } from "./story";

/** Index of the step that the address names; the last one where it names none. */
export function stepAt(count: number): number {
    const wanted = query.value.get("step");
    return wanted === null ? count - 1 : Math.min(Math.max(Number(wanted) - 1, 0), count - 1);
}

/** Goes to a step. The last one is where a story stands by itself, so that the address does not name it. */
export function goToStep(index: number, count: number): void {
    setQuery({ step: index >= count - 1 ? undefined : Math.max(index, 0) + 1 }, true);
}

export function Drawing({ bench, onMissed }: { bench: Bench; onMissed: (state: string) => void }) {
    const sound = bench.sound.value;
    const steps = bench.steps.value;
    const at = stepAt(steps.length);
    const { states, taken } = drawnAt(steps, at);
    const reached = bench.reached.value;
    const { coverage } = bench.outcome.value;
    const marked = new Map([...[...reached].map((state) => [state, ""] as const), ...states]);
    const choose = (state: string) => {
        const index = steps.findIndex((step) => step.state === state);
        if (index >= 0) goToStep(index, steps.length);
        else onMissed(state);
    };
    return (
        <section class="panel" aria-label={text("graph")}>
            <header class="panel-head">
                <h2>{text("graph")}</h2>
                {coverage && reached.size > 0 && <span class="soft">{coverageText(coverage)}</span>}
            </header>
            <Player bench={bench} />
            {sound !== bench.text.value && sound !== "" && bench.checked.value.faults.length > 0 && <p class="note">{text("graph_old")}</p>}
            {sound === "" ? (
                <p class="nothing">{text("graph_none")}</p>
            ) : (
                <Graph
                    label={text("graph_label")}
                    request={yamlRequest("/v1/scenarios/graph", sound)}
                    states={marked}
                    others={reached.size > 0 ? "missed" : ""}
                    taken={taken}
                    reachedWays={reached.size > 0 ? bench.reachedWays.value : undefined}
                    onState={choose}
                />
            )}
            {coverage && reached.size > 0 && <Missed coverage={coverage} />}
        </section>
    );
}

type Coverage = Schemas["CoverageView"];

function coverageText({ states, transitions }: Coverage): string {
    return text("coverage", { n: states.reached, all: states.total, taken: transitions.reached, ways: transitions.total });
}

/** Parts that no test reaches, in the words of the command `scenario test --coverage`. */
function Missed({ coverage: { states, transitions, operations } }: { coverage: Coverage }) {
    const missed = [...states.missed, ...transitions.missed, ...operations.missed];
    if (missed.length === 0) return null;
    return (
        <details class="more">
            <summary>{text("missed", { n: missed.length })}</summary>
            <ul class="plain-list">
                {missed.map((part, index) => (
                    <li key={index}>
                        <Said text={part} />
                    </li>
                ))}
            </ul>
        </details>
    );
}

/** Stays that are drawn: more of them would be lines without a width. */
const STAYS = 40;

/** Time line of the story: the states in which the order stood, as wide as the size of their time. */
function TimeLine({ bench, at }: { bench: Bench; at: number }) {
    const steps = bench.steps.value;
    const stays = staysOf(steps);
    const present = stays.findIndex((stay) => at < stay.end);
    const first = Math.max(0, Math.min(present - STAYS / 2, stays.length - STAYS));
    return (
        <ol class="time-line" aria-label={text("time_line")}>
            {stays.slice(first, first + STAYS).map((stay, index) => (
                <li key={stay.first} data-width={widthOf(stay.length)}>
                    <button
                        type="button"
                        aria-current={first + index === present ? "step" : undefined}
                        data-passed={first + index < present}
                        title={`${stay.state} ${spelled(stay.length)}`}
                        onClick={() => goToStep(stay.first, steps.length)}
                    >
                        {stay.state} <span class="number">{spelled(stay.length)}</span>
                    </button>
                </li>
            ))}
        </ol>
    );
}

/** Goes through the story, one step at a time, or by the slider. */
function Player({ bench }: { bench: Bench }) {
    const steps = bench.steps.value;
    const at = stepAt(steps.length);
    const step = steps[at];
    const goTo = (index: number) => goToStep(index, steps.length);
    if (!step) return null;
    return (
        <div class="player">
            <div class="row">
                <Button small label={text("start_again")} title={text("start_again")} disabled={at === 0} onClick={() => goTo(0)}>
                    <Icon name="first" />
                </Button>
                <Button small label={text("previous")} title={text("previous")} disabled={at === 0} onClick={() => goTo(at - 1)}>
                    <Icon name="left" />
                </Button>
                <input
                    type="range"
                    aria-label={text("step")}
                    aria-valuetext={`${text("step_of", { n: at + 1, all: steps.length })}: ${step.moment.text}`}
                    min={0}
                    max={steps.length - 1}
                    value={at}
                    onInput={(event) => goTo(Number(event.currentTarget.value))}
                />
                <Button small label={text("next")} title={text("next")} disabled={at === steps.length - 1} onClick={() => goTo(at + 1)}>
                    <Icon name="right" />
                </Button>
                <Button small label={text("to_end")} title={text("to_end")} disabled={at === steps.length - 1} onClick={() => goTo(steps.length - 1)}>
                    <Icon name="last" />
                </Button>
            </div>
            <TimeLine bench={bench} at={at} />
            <p class="player-text">
                <span class="faint number">
                    {text("step_of", { n: at + 1, all: steps.length })} · +{step.moment.after}
                </span>{" "}
                <Said text={step.moment.text} />
            </p>
        </div>
    );
}
