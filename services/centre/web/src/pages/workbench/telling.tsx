// The story of the trial, step by step, with what a call may be answered instead; and the variables.

import { useState } from "preact/hooks";
import { Badge } from "../../parts/badge";
import { Button } from "../../parts/button";
import { Said } from "../../parts/said";
import { workbench as text } from "../../text/workbench";
import type { Bench } from "./bench";
import { goToStep, stepAt } from "./drawing";
import { flow } from "./yaml";
import { unansweredIn, type Step } from "./story";
import { askedBy, changed, choicesFor } from "./what-if";

export function Telling({ bench }: { bench: Bench }) {
    const { failure, faults } = bench.outcome.value;
    const tried = bench.tried.value;
    return (
        <section class="panel" aria-label={text("story")}>
            <header class="panel-head">
                <h2>{text("story")}</h2>
                <div class="tools">
                    <span role="status">
                        <Verdict bench={bench} />
                    </span>
                    <Button small kind="primary" onClick={() => void bench.run()}>
                        {text("run")}
                    </Button>
                </div>
            </header>
            <p class="hint">{text("story_hint")}</p>
            {tried && bench.checked.value.faults.length > 0 && <p class="note">{text("story_old")}</p>}
            {failure && (
                <div class="problem" role="alert">
                    <p>{text("run_failed", { reason: failure })}</p>
                    {faults.map((fault) => (
                        <p key={fault}>{fault}</p>
                    ))}
                </div>
            )}
            {!tried && !failure && <p class="nothing">{text("no_outcome")}</p>}
            {tried && <Remarks bench={bench} />}
            {tried && <Steps bench={bench} />}
        </section>
    );
}

/** Whether the test holds; where it expects nothing, how the order ended. */
function Verdict({ bench }: { bench: Bench }) {
    const tried = bench.tried.value;
    const ended = bench.steps.value.at(-1)?.ended;
    if (!tried) return null;
    if (!tried.passed) return <Badge word={text("faults", { n: tried.faults.length })} tone="bad" />;
    const expects = Object.keys(bench.trial.value.expect).length > 0;
    return expects ? <Badge word={text("passed")} tone="good" /> : <Badge word={ended} />;
}

/** What is not as expected; a request that nothing answers gets an answer by one click. */
function Remarks({ bench }: { bench: Bench }) {
    const tried = bench.tried.value;
    const open = unansweredIn(tried?.faults ?? []);
    if (!tried || tried.passed) return null;
    const answer = (line: string) => bench.change({ answers: [...bench.trial.value.answers, { asked: askedBy(line) }] });
    return (
        <div class="note bad">
            {open && (
                <p class="row">
                    {text("unanswered", open)}
                    <Button small onClick={() => answer(open.asked)}>
                        {text("answer_it")}
                    </Button>
                </p>
            )}
            <ul class="plain-list">
                {tried.faults.map((fault, index) => (
                    <li key={index}>
                        <Said text={fault.message} /> {fault.hint && <Said text={text("fault_hint", { hint: fault.hint })} />}
                    </li>
                ))}
            </ul>
        </div>
    );
}

/** Steps that are listed: a story may have thousands. */
const SHOWN = 120;

function Steps({ bench }: { bench: Bench }) {
    const steps = bench.steps.value;
    const at = stepAt(steps.length);
    const first = Math.max(0, Math.min(at - SHOWN / 2, steps.length - SHOWN));
    return (
        <>
            {steps.length > SHOWN && <p class="hint">{text("steps_cut", { n: steps.length })}</p>}
            <ol class="story" start={first + 1}>
                {steps.slice(first, first + SHOWN).map((step, index) => (
                    <StepLine key={first + index} bench={bench} step={step} index={first + index} present={first + index === at} />
                ))}
            </ol>
        </>
    );
}

function StepLine({ bench, step, index, present }: { bench: Bench; step: Step; index: number; present: boolean }) {
    const count = bench.steps.value.length;
    const before = bench.steps.value[index - 1];
    const passes = step.at - (before?.at ?? 0) > 0;
    return (
        <li class={`story-step ${step.kind}`} data-outcome={outcomeOf(step)}>
            <div class="story-row">
                <button type="button" class="story-text" aria-current={present ? "step" : undefined} onClick={() => goToStep(index, count)}>
                    <span class={passes ? "story-time number" : "story-time number faint"}>+{step.moment.after}</span>
                    <span>
                        <Said text={step.moment.text} />
                    </span>
                </button>
                {step.asked?.startsWith("amqp") === false && /^[A-Z]/.test(step.asked) && (
                    <Button small kind="quiet" title={text("instead_503")} label={`503? ${text("instead_503")} ${step.asked}`} onClick={() => tryInstead(bench, index, { status: 503 }, false)}>
                        503?
                    </Button>
                )}
            </div>
            {present && step.asked && <WhatIf bench={bench} index={index} asked={step.asked} />}
        </li>
    );
}

function outcomeOf({ ended, outcome, kind }: Step): string | undefined {
    if (ended) return ended === "success" ? "good" : "bad";
    if (kind === "retry") return "warn";
    return outcome && !/^[23]\d\d$|^(published|queued|started)$/.test(outcome) ? "bad" : undefined;
}

function tryInstead(bench: Bench, index: number, instead: ReturnType<typeof choicesFor>[number]["instead"], always: boolean): void {
    goToStep(index, Infinity);
    bench.change({ answers: changed(bench.trial.value.answers, bench.steps.value, index, { instead, always }) });
}

function WhatIf({ bench, index, asked }: { bench: Bench; index: number; asked: string }) {
    const [always, setAlways] = useState(false);
    return (
        <div class="what-if row" role="group" aria-label={text("instead")}>
            <span class="soft">{text("instead")}</span>
            {choicesFor(askedBy(asked).kind).map(({ name, instead }) => (
                <Button key={name} small onClick={() => tryInstead(bench, index, instead, always)}>
                    {name}
                </Button>
            ))}
            <label>
                <input type="checkbox" checked={always} onChange={(event) => setAlways(event.currentTarget.checked)} />
                {text("instead_always")}
            </label>
        </div>
    );
}

export function Variables({ bench }: { bench: Bench }) {
    const steps = bench.steps.value;
    const at = stepAt(steps.length);
    const vars = steps[at]?.vars ?? {};
    const before = steps[at - 1]?.vars ?? {};
    const result = bench.tried.value?.result;
    if (steps.length === 0) return null;
    return (
        <section class="panel" aria-label={text("variables")}>
            <header class="panel-head">
                <h2>{text("variables_at", { n: at + 1 })}</h2>
            </header>
            {Object.keys(vars).length === 0 ? (
                <p class="nothing">{text("variables_none")}</p>
            ) : (
                <dl class="facts">
                    {Object.entries(vars).map(([name, value]) => (
                        <VariableLine key={name} name={name} value={value} changed={flow(before[name]) !== flow(value)} />
                    ))}
                </dl>
            )}
            {at === steps.length - 1 && result !== undefined && result !== null && (
                <dl class="facts">
                    <VariableLine name={text("result")} value={result} changed={false} />
                </dl>
            )}
        </section>
    );
}

function VariableLine({ name, value, changed }: { name: string; value: unknown; changed: boolean }) {
    return (
        <>
            <dt>{name}</dt>
            <dd class={changed ? "strong" : ""}>
                <code>{flow(value)}</code>
            </dd>
        </>
    );
}
