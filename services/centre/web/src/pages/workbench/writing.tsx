// The text of the scenario, and what the server says of it while it is typed.

import { useMemo, useRef } from "preact/hooks";
import { Editor, type EditorHandle } from "../../parts/editor";
import type { Schemas } from "../../api/client";
import { Said } from "../../parts/said";
import { workbench as text } from "../../text/workbench";
import { marksOf, type Bench } from "./bench";

type Handle = { current: EditorHandle | undefined };

export function Writing({ bench, handle }: { bench: Bench; handle: Handle }) {
    const checked = bench.checked.value;
    const marks = useMemo(() => marksOf(checked), [checked]);
    // The editor keeps its own text; this is the one that it begins with.
    const first = useRef(bench.text.peek());
    return (
        <section class="panel" aria-label={text("scenario")}>
            <header class="panel-head">
                <h2>{text("scenario")}</h2>
                <Verdict bench={bench} />
            </header>
            <Editor
                label={text("scenario")}
                value={first.current}
                remarks={marks}
                handle={handle}
                onChange={(value) => bench.write(value)}
                complete={(value, at) => bench.complete(value, at)}
                onRun={() => void bench.run()}
            />
            <Faults faults={checked.faults} tone="bad" handle={handle} />
            <Faults faults={checked.warnings} tone="warn" handle={handle} />
        </section>
    );
}

function Verdict({ bench }: { bench: Bench }) {
    const { busy, text: about, faults, warnings, failure } = bench.checked.value;
    // A verdict on another text is no verdict.
    const old = about !== bench.text.value;
    if (failure) return <span class="bad-text">{text("check_failed", { reason: failure })}</span>;
    return (
        <span role="status" class={old ? "faint" : faults.length > 0 ? "bad-text" : "good-text"}>
            {busy && old ? text("check_busy") : faults.length > 0 ? text("faults", { n: faults.length }) : text("check_sound")}
            {!old && warnings.length > 0 && <span class="warn-text"> · {text("warnings", { n: warnings.length })}</span>}
        </span>
    );
}

/** Faults that are listed; a text with more of them has one cause. */
const SHOWN = 20;

function Faults({ faults, tone, handle }: { faults: readonly Schemas["Detail"][]; tone: "bad" | "warn"; handle: Handle }) {
    if (faults.length === 0) return null;
    return (
        <ul class="faults">
            {faults.slice(0, SHOWN).map((fault, index) => (
                <li key={index}>
                    <button type="button" class="fault" onClick={() => handle.current?.jump({ line: fault.line ?? 1, column: fault.column ?? 1 })}>
                        <span class={`fault-place ${tone}-text`}>{text("column_place", { line: String(fault.line ?? 1), column: String(fault.column ?? 1) })}</span>
                        <span>
                            <Said text={fault.message} /> {fault.hint && <Said text={text("fault_hint", { hint: fault.hint })} />}
                        </span>
                    </button>
                </li>
            ))}
        </ul>
    );
}
