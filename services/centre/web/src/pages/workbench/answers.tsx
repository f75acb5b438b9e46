// The table of answers: its lines in their order, and a window in which one of them is written.

import { useState } from "preact/hooks";
import { Button } from "../../parts/button";
import { Icon } from "../../parts/icon";
import { Table, type Column } from "../../parts/table";
import { workbench as text } from "../../text/workbench";
import { AnswerDialog } from "./answer-dialog";
import { answersAll, askedText, callbackText, replyText } from "./answer-text";
import type { Bench } from "./bench";
import { bodyRead } from "./facts";
import { toAll, type Answer } from "./trial";

interface Row {
    readonly answer: Answer;
    readonly index: number;
}

export function Answers({ bench }: { bench: Bench }) {
    const { answers } = bench.trial.value;
    const [edited, setEdited] = useState<Row>();
    const set = (next: readonly Answer[]) => bench.change({ answers: next });
    const rows = answers.map((answer, index) => ({ answer, index }));
    const missing = toAll(bodyRead("response", bench.sound.value), bodyRead("callbacks", bench.sound.value)).filter((one) => !answers.some((answer) => answer.asked.kind === one.asked.kind && answersAll(answer)));
    const save = (answer: Answer) => {
        set(edited && edited.index >= 0 ? answers.with(edited.index, answer) : [answer, ...answers]);
        setEdited(undefined);
    };
    return (
        <div class="answers">
            <header class="panel-head">
                <h3>{text("answers")}</h3>
                <div class="tools">
                    {missing.length > 0 && (
                        <Button small kind="quiet" onClick={() => set([...answers, ...missing])}>
                            {text("answer_all")}
                        </Button>
                    )}
                    <Button small onClick={() => setEdited({ answer: { asked: { kind: "http", target: "" } }, index: -1 })}>
                        {text("add_answer")}
                    </Button>
                </div>
            </header>
            <p class="hint">{text("answers_hint")}</p>
            {rows.length === 0 ? <p class="nothing">{text("answers_none")}</p> : <Table caption={text("answers")} columns={columns(answers, set, setEdited)} rows={rows} keyOf={(row) => row.index} />}
            {edited && <AnswerDialog answer={edited.answer} isNew={edited.index < 0} onSave={save} onClose={() => setEdited(undefined)} />}
        </div>
    );
}

function moved(answers: readonly Answer[], from: number, to: number): Answer[] {
    const next = [...answers];
    next.splice(to, 0, ...next.splice(from, 1));
    return next;
}

function columns(answers: readonly Answer[], set: (answers: readonly Answer[]) => void, edit: (row: Row) => void): Column<Row>[] {
    return [
        {
            key: "asked",
            name: text("asked"),
            head: true,
            cell: (row) => (
                <button type="button" class="link mono asked" onClick={() => edit(row)} title={askedText(row.answer)}>
                    <span class="hidden-text">{text("edit")} </span>
                    {askedText(row.answer)}
                </button>
            ),
        },
        { key: "answer", name: text("answer"), cell: ({ answer }) => <Reply answer={answer} /> },
        { key: "tools", name: text("edit"), cell: (row) => <RowTools row={row} answers={answers} set={set} /> },
    ];
}

/** What is answered, and below it when, how often, and what comes later. */
function Reply({ answer }: { answer: Answer }) {
    const callback = callbackText(answer);
    const details = [
        answer.after === undefined ? "" : text("reply_after", { after: answer.after }),
        answer.times === undefined ? "" : text("reply_times", { n: answer.times }),
        callback === "" ? "" : text("reply_callback", { callback }),
    ].filter(Boolean);
    return (
        <>
            <code class={isGood(answer) ? "" : "bad-text"}>{replyText(answer)}</code>
            {details.length > 0 && <div class="hint">{details.join(", ")}</div>}
        </>
    );
}

function isGood(answer: Answer): boolean {
    return !answer.fails && !["fail", "none", "canceled", "interrupted"].includes(String(answer.decision ?? answer.status)) && !(Number(answer.status) >= 400);
}

function RowTools({ row, answers, set }: { row: Row; answers: readonly Answer[]; set: (answers: readonly Answer[]) => void }) {
    const { index } = row;
    const of = askedText(row.answer);
    return (
        <span class="row-tools">
            <Button small kind="quiet" label={`${text("up")}: ${of}`} disabled={index === 0} onClick={() => set(moved(answers, index, index - 1))}>
                <Icon name="up" />
            </Button>
            <Button small kind="quiet" label={`${text("down")}: ${of}`} disabled={index === answers.length - 1} onClick={() => set(moved(answers, index, index + 1))}>
                <Icon name="down" />
            </Button>
            <Button small kind="quiet" label={`${text("delete")}: ${of}`} onClick={() => set(answers.toSpliced(index, 1))}>
                ×
            </Button>
        </span>
    );
}
