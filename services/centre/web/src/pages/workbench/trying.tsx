// The trial: the order, the answers that it meets, what is expected, and all of it as the text of a test.

import { useState } from "preact/hooks";
import { Button } from "../../parts/button";
import { CopyButton } from "../../parts/copy";
import { Field, Select } from "../../parts/field";
import { workbench as text } from "../../text/workbench";
import { Answers } from "./answers";
import type { Bench } from "./bench";
import { expectationOf } from "./expected";
import { toText, type Call, type Trial } from "./trial";
import { ValueField } from "./value-field";

type Mapping = Record<string, unknown>;

/** Time at which a trial begins that says nothing else. */
const START = "2026-03-01T10:00:00Z";

export function Trying({ bench }: { bench: Bench }) {
    const trial = bench.trial.value;
    return (
        <section class="panel" aria-label={text("trial")}>
            <header class="panel-head">
                <h2>{text("trial")}</h2>
                <Tests bench={bench} />
            </header>
            {bench.recorded.value && <p class="note plain">{text("recorded", { id: bench.recorded.value })}</p>}
            <div class="two">
                <ValueField label={text("params")} value={trial.params} form="mapping" onChange={(params) => bench.change({ params: (params ?? {}) as Mapping })} />
                <ValueField label={text("config")} value={trial.config} form="mapping" onChange={(config) => bench.change({ config: (config ?? {}) as Mapping })} />
            </div>
            <Answers bench={bench} />
            <More bench={bench} />
            <Expectations bench={bench} />
            <AsFile bench={bench} />
        </section>
    );
}

/** The tests on the bench: one is chosen, and runs with the others for the coverage. */
function Tests({ bench }: { bench: Bench }) {
    const trials = bench.trials.value;
    const choose = (index: number) => {
        bench.chosen.value = index;
        bench.runSoon(0);
    };
    const add = () => {
        const trial = { ...bench.trial.value, name: `${bench.facts.value.name} ${trials.length + 1}`, expect: {} };
        bench.trials.value = [...trials, trial];
        choose(trials.length);
    };
    const remove = () => {
        bench.trials.value = trials.toSpliced(bench.chosen.value, 1);
        choose(Math.max(0, bench.chosen.value - 1));
    };
    const options = trials.map((trial, index) => ({ value: String(index), text: trial.name || String(index + 1) }));
    return (
        <div class="tools">
            {trials.length > 1 && <Select label={text("test")} value={String(bench.chosen.value)} options={options} onChange={(value) => choose(Number(value))} />}
            <OpenFile bench={bench} />
            <Button small onClick={add}>
                {text("add_test")}
            </Button>
            {trials.length > 1 && (
                <Button small kind="quiet" onClick={remove}>
                    {text("delete")}
                </Button>
            )}
        </div>
    );
}

function OpenFile({ bench }: { bench: Bench }) {
    const [failure, setFailure] = useState(false);
    const open = async (file: File | undefined) => {
        if (!file) return;
        const [{ readYaml }, { readTrials }] = await Promise.all([import("./yaml-reader"), import("./trial-reader")]);
        const trials = readTrials(readYaml(await file.text()));
        setFailure(trials.length === 0);
        if (trials.length === 0) return;
        bench.trials.value = trials;
        bench.chosen.value = 0;
        void bench.check();
    };
    return (
        <>
            {failure && <span class="bad-text">{text("file_bad")}</span>}
            <label class="button small file">
                {text("file")}
                <input type="file" class="hidden-text" accept=".yaml,.yml,.json" onChange={(event) => void open(event.currentTarget.files?.[0])} />
            </label>
        </>
    );
}

function More({ bench }: { bench: Bench }) {
    const trial = bench.trial.value;
    const set = (key: keyof Trial, otherwise: unknown) => (value: unknown) => bench.change({ [key]: value ?? otherwise });
    return (
        <details class="more">
            <summary>{text("more")}</summary>
            <div class="two">
                <Field label={text("name")}>{(id) => <input id={id} value={trial.name} onInput={(event) => bench.change({ name: event.currentTarget.value })} />}</Field>
                <Field label={text("now")}>
                    {(id) => <input id={id} value={trial.now ?? ""} placeholder={START} onInput={(event) => bench.change({ now: event.currentTarget.value.trim() || undefined })} />}
                </Field>
                <ValueField label={text("order")} value={trial.order} form="mapping" onChange={set("order", undefined)} />
                <ValueField label={text("secrets")} value={trial.secrets} form="mapping" onChange={set("secrets", {})} />
                <ValueField label={text("calls")} value={trial.calls.length > 0 ? trial.calls : undefined} form="list" onChange={(calls) => bench.change({ calls: (calls ?? []) as Call[] })} />
                <ValueField label={text("errors")} value={trial.errors} form="any" onChange={set("errors", undefined)} />
            </div>
        </details>
    );
}

function Expectations({ bench }: { bench: Bench }) {
    const trial = bench.trial.value;
    const tried = bench.tried.value;
    const empty = Object.keys(trial.expect).length === 0;
    return (
        <div class="expectations">
            <header class="panel-head">
                <h3>{text("expect")}</h3>
                <Button small disabled={!tried} onClick={() => tried && bench.change({ expect: expectationOf(tried, bench.steps.value) })}>
                    {text("actual")}
                </Button>
            </header>
            <ValueField label={text("expect_hint")} value={empty ? undefined : trial.expect} form="mapping" onChange={(expect) => bench.change({ expect: (expect ?? {}) as Mapping })} />
        </div>
    );
}

function AsFile({ bench }: { bench: Bench }) {
    const name = bench.facts.value.name || "scenario";
    const content = toText(bench.trials.value, `${name}.yaml`);
    const download = () => {
        const link = document.createElement("a");
        link.href = URL.createObjectURL(new Blob([content], { type: "application/yaml" }));
        link.download = `${name}.test.yaml`;
        link.click();
        // The browser reads it after the click.
        window.setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
    };
    return (
        <details class="more">
            <summary>{text("saved_as")}</summary>
            <p class="hint">{text("saved_hint")}</p>
            <pre tabIndex={0}>{content}</pre>
            <div class="row end">
                <CopyButton text={content} />
                <Button small onClick={download}>
                    {text("download")}
                </Button>
            </div>
        </details>
    );
}
