// The workbench: a scenario is written, checked, drawn, and tried in virtual time. Nothing has an effect before it is applied.

import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { queryText, read } from "../api/client";
import { useResource } from "../api/resource";
import type { PageProps } from "../app/pages";
import { go, query, to, toWith } from "../app/router";
import { Button } from "../parts/button";
import type { EditorHandle } from "../parts/editor";
import { Select } from "../parts/field";
import { Page } from "../parts/page";
import { common } from "../text/common";
import { reasonText } from "../text/reason";
import { workbench as text } from "../text/workbench";
import { ApplyDialog } from "./workbench/applying";
import { anyChanged, benchOf, type Bench } from "./workbench/bench";
import { Drawing } from "./workbench/drawing";
import { openWanted, type Wanted } from "./workbench/opening";
import { Telling, Variables } from "./workbench/telling";
import { TEMPLATE_NAMES, type TemplateName } from "./workbench/templates";
import { Trying } from "./workbench/trying";
import { Writing } from "./workbench/writing";
import "../style/workbench.css";

// What was written stays while the page is open, so that only closing it needs a warning.
window.addEventListener("beforeunload", (event) => {
    if (anyChanged()) event.preventDefault();
});

function wantedOf(name: string | undefined): Wanted {
    const template = query.value.get("template");
    return {
        name,
        order: query.value.get("order"),
        version: query.value.get("version"),
        template: TEMPLATE_NAMES.find((one) => one === template) ?? "call",
    };
}

/** The bench that the address names, once what it asks for is on it. */
function useBench(wanted: Wanted) {
    const key = JSON.stringify(wanted);
    const { bench, isNew } = useMemo(() => benchOf(key), [key]);
    const [opened, setOpened] = useState<{ key: string; failure?: string } | undefined>(isNew ? undefined : { key });
    const [attempt, setAttempt] = useState(0);
    useEffect(() => {
        if (!isNew && attempt === 0) {
            setOpened({ key });
            return;
        }
        openWanted(bench, JSON.parse(key) as Wanted).then(
            () => setOpened({ key }),
            (error: unknown) => setOpened({ key, failure: reasonText(error) }),
        );
    }, [key, attempt]);
    return { bench, key, state: opened?.key === key ? opened : undefined, again: () => setAttempt(attempt + 1) };
}

export default function Workbench({ name }: PageProps) {
    const wanted = wantedOf(name);
    const { bench, key, state, again } = useBench(wanted);
    const ready = state && !state.failure;
    return (
        <Page
            title={name ? text("title_of", { name: bench.base.value?.name ?? name }) : text("title")}
            lead={text("lead")}
            tools={<Tools bench={bench} wanted={wanted} />}
            {...(ready && bench.sound.value ? { request: bench.request() } : {})}
            command={["scenario", "test", `${bench.facts.value.name || "scenario"}.test.yaml`, "--story"]}
        >
            {!state && <p class="page-loading">{text("loading")}</p>}
            {state?.failure && (
                <div class="problem" role="alert">
                    <p>{text("load_failed", { reason: state.failure })}</p>
                    <Button onClick={again}>{common("retry")}</Button>
                </div>
            )}
            {ready && <Content key={`${key} ${bench.opened.value}`} bench={bench} />}
        </Page>
    );
}

function Content({ bench }: { bench: Bench }) {
    const handle = useRef<EditorHandle | undefined>(undefined);
    const showState = (name: string) => {
        const line = bench.text.value.split("\n").findIndex((one) => one.trim().startsWith(`${name}:`));
        if (line >= 0) handle.current?.jump({ line: line + 1, column: 3 });
    };
    return (
        <>
            <Newer bench={bench} />
            <Parts bench={bench} handle={handle} showState={showState} />
        </>
    );
}

/** Says that the text was not made from the newest version: it was applied meanwhile, or an order ran an older one. */
function Newer({ bench }: { bench: Bench }) {
    const base = bench.base.value;
    const versions = useResource(base ? read("/v1/scenarios/{name}/versions", { name: base.name }, { limit: 1 }) : null, { every: 30_000 });
    const newest = versions.data?.items[0]?.version;
    if (!base || newest === undefined || newest <= base.version) return null;
    return (
        <p class="note" role="status">
            {text("newer", { version: String(newest), base: String(base.version) })}{" "}
            <a href={to("scenarios", base.name) + queryText({ tab: "diff", from: base.version, to: newest })}>{text("newer_diff")}</a>
        </p>
    );
}

interface PartsProps {
    bench: Bench;
    handle: { current: EditorHandle | undefined };
    showState: (state: string) => void;
}

function Parts({ bench, handle, showState }: PartsProps) {
    return (
        <div class="bench">
            <div class="stack">
                <Writing bench={bench} handle={handle} />
                <Trying bench={bench} />
            </div>
            <div class="stack">
                <Drawing bench={bench} onMissed={showState} />
                <Telling bench={bench} />
                <Variables bench={bench} />
            </div>
        </div>
    );
}

function Tools({ bench, wanted }: { bench: Bench; wanted: Wanted }) {
    const [applying, setApplying] = useState(false);
    const faulty = bench.checked.value.faults.length > 0 || bench.sound.value !== bench.text.value;
    const base = bench.base.value;
    return (
        <>
            {wanted.name === undefined && wanted.order === null && (
                <Select
                    label={text("template")}
                    value={wanted.template}
                    options={TEMPLATE_NAMES.map((value) => ({ value, text: text(`template_${value}` as `template_${TemplateName}`) }))}
                    onChange={(template) => go(toWith("workbench", { template }))}
                />
            )}
            {base && (
                <a href={to("scenarios", base.name)}>
                    {base.name} {text("version_base", { version: String(base.version) })}
                </a>
            )}
            {bench.changed.value && <span class="badge wait">{text("unsaved")}</span>}
            <Button kind="primary" needs="admin" disabled={faulty} title={faulty ? text("apply_faulty") : undefined} onClick={() => setApplying(true)}>
                {text("apply")}
            </Button>
            {applying && <ApplyDialog bench={bench} onClose={() => setApplying(false)} />}
        </>
    );
}
