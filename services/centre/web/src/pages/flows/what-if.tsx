// What-if: the last hour of a flow beside its replays. What is changed stands in the address.

import { useId } from "preact/hooks";
import { useAnswer } from "../../api/answer";
import { change, type Schemas } from "../../api/client";
import { query, setQuery } from "../../app/router";
import { duration, number, percent, rate } from "../../app/time";
import { Chart, type Series } from "../../parts/chart";
import { Disclosure } from "../../parts/disclosure";
import { Field, Select } from "../../parts/field";
import { PreviewFailure } from "../../parts/preview";
import { Table, type Column } from "../../parts/table";
import { whatIf as text } from "../../text/what-if";
import { changesOf, MODES } from "./changes";

type View = Schemas["WhatIfView"];
type Totals = Schemas["WhatIfTotals"];
type Kind = "recorded" | "replayed" | "changed";

/** Time for which nothing was typed before a replay is asked for: it costs the engine up to some seconds of a processor. */
const PAUSE = 700;
/** Likeness below which a replay says little. */
const LIKE = 0.8;

export function WhatIf({ flow }: { flow: string }) {
    const isAsked = Object.keys(changesOf(query.value)).length > 0;
    return (
        <Disclosure summary={text("summary")} open={isAsked}>
            {() => <Replay flow={flow} />}
        </Disclosure>
    );
}

function Replay({ flow }: { flow: string }) {
    const answer = useAnswer<View>(change("POST", "/v1/flows/{flow}/what-if", { flow }, changesOf(query.value)), PAUSE);
    return (
        <section class="panel">
            <p class="faint">{text("lead")}</p>
            <Changes />
            <p class="faint" role="status">
                {answer.busy && text("busy")}
            </p>
            {!answer.busy && answer.failure && <PreviewFailure failure={answer.failure} />}
            {!answer.busy && answer.data && <Played view={answer.data} />}
        </section>
    );
}

function Changes() {
    const value = (name: string) => query.value.get(name) ?? "";
    const set = (name: string) => (typed: string) => setQuery({ [name]: typed === "" ? null : typed }, true);
    const modes = [{ value: "", text: text("as_it_was") }, ...MODES.map((mode) => ({ value: mode, text: mode }))];
    return (
        <div class="what-if-fields">
            <Select label={text("mode")} value={value("mode")} options={modes} onChange={set("mode")} />
            <NumberField label={text("max_limit")} value={value("maxLimit")} least={1} step={1} onInput={set("maxLimit")} />
            <NumberField label={text("weight")} value={value("weight")} least={1} step={1} onInput={set("weight")} />
            <NumberField label={text("load")} value={value("load")} least={0.01} step={0.01} onInput={set("load")} />
            <NumberField label={text("call_time")} value={value("callTime")} least={0.01} step={0.01} onInput={set("callTime")} />
            <NumberField label={text("capacity")} value={value("capacity")} least={0.01} step={0.01} onInput={set("capacity")} />
        </div>
    );
}

interface NumberProps {
    label: string;
    value: string;
    least: number;
    step: number;
    onInput: (value: string) => void;
}

function NumberField({ label, value, least, step, onInput }: NumberProps) {
    return (
        <Field label={label}>
            {(id) => <input id={id} type="number" min={least} step={step} value={value} placeholder={text("as_it_was")} onInput={(event) => onInput(event.currentTarget.value)} />}
        </Field>
    );
}

interface Row {
    readonly name: string;
    readonly of: (totals: Totals) => string;
}

const wait = (ms: number | null | undefined) => (ms === null || ms === undefined ? "–" : duration(ms));

function Played({ view }: { view: View }) {
    const { totals, steps, systems } = view;
    const id = useId();
    const rows: Row[] = [
        { name: text("came"), of: (one) => number(one.came, 0) },
        { name: text("ended"), of: (one) => number(one.ended, 0) },
        { name: text("repeated"), of: (one) => number(one.repeated, 0) },
        { name: text("wait"), of: (one) => wait(one.waitMs) },
        { name: text("most_waiting"), of: (one) => number(one.mostWaiting, 0) },
        { name: text("waiting_at_end"), of: (one) => number(one.waitingAtEnd, 0) },
    ];
    const column = (key: Kind, name: string): Column<Row> => ({ key, name, number: true, cell: (row) => row.of(totals[key]) });
    const columns: Column<Row>[] = [
        { key: "name", name: text("figure"), head: true, cell: (row) => row.name },
        column("recorded", text("recorded")),
        column("replayed", text("replayed")),
        column("changed", text("otherwise")),
    ];
    const series = (value: (figures: Schemas["MinuteFigures"]) => number | null): Series[] => [
        { name: text("recorded"), colour: "text-faint", dashed: true, values: steps.map((step) => value(step.recorded)) },
        { name: text("replayed"), colour: "accent", values: steps.map((step) => value(step.replayed)) },
        { name: text("otherwise"), colour: "busy", values: steps.map((step) => value(step.changed)) },
    ];
    const charts = [
        { title: text("chart_ended"), series: series((one) => one.ended), format: (value: number) => rate(value) },
        { title: text("chart_waiting"), series: series((one) => one.waiting), format: (value: number) => number(value, 0) },
        { title: text("chart_wait"), series: series((one) => one.waitMs ?? null), format: (value: number) => duration(value) },
    ];
    const times = steps.map((step) => Date.parse(step.at) / 1_000);
    return (
        <>
            <Table caption={text("caption")} columns={columns} rows={rows} keyOf={(row) => row.name} />
            <p class={view.likeness < LIKE ? "warn-text" : "faint"}>{text(view.likeness < LIKE ? "likeness_low" : "likeness", { n: percent(view.likeness) })}</p>
            {view.skippedMinutes > 0 && <p class="faint">{text("skipped", { n: steps.length })}</p>}
            {systems.map((one) => (
                <p key={one.system} class="faint">
                    {text(one.wasFull ? "at_once" : "at_once_unknown", { system: one.system, n: number(one.atOnce), time: duration(one.callMs) })}
                </p>
            ))}
            <div class="charts">
                {charts.map((one) => (
                    <section key={one.title}>
                        <h3>{one.title}</h3>
                        <Chart label={one.title} times={times} series={one.series} format={one.format} sync={id} />
                    </section>
                ))}
            </div>
        </>
    );
}
