// What the order asked the world. An operation is one row, which opens to the steps inside it.

import { read } from "../../api/client";
import { Badge } from "../../parts/badge";
import { Button } from "../../parts/button";
import { Icon } from "../../parts/icon";
import { Duration } from "../../parts/moment";
import { useOpen } from "../../parts/open";
import { Table, type Column } from "../../parts/table";
import { order as text } from "../../text/order";
import { Exact } from "./exact";
import { keyOf, linesOf, operationTotals, type Step, type StepLine } from "./folding";
import { ListPanel, type ListOf } from "./list";
import { byCursor } from "./lists";

export const STEPS: ListOf<Step> = { request: (id, query) => read("/v1/orders/{id}/steps", { id }, query), size: "limit", place: byCursor };

type Operation = Extract<StepLine, { kind: "operation" }>;

export function Steps({ id }: { id: string }) {
    const [open, turn] = useOpen();
    return (
        <ListPanel id={id} list={STEPS} title={text("tab_steps")} emptyText={text("steps_empty")}>
            {(rows, caption) => <Table caption={caption} columns={columns(open, turn)} rows={linesOf(rows, open)} keyOf={keyOf} />}
        </ListPanel>
    );
}

function columns(open: ReadonlySet<string>, turn: (key: string) => void): Column<StepLine>[] {
    const step = (cell: (step: Step) => ReturnType<Column<StepLine>["cell"]>) => (line: StepLine) => cell(line.kind === "step" ? line.step : operationTotals(line.steps));
    return [
        { key: "number", name: text("number"), number: true, cell: (line) => <Numbers line={line} /> },
        { key: "at", name: text("at"), cell: step((row) => <Exact at={row.at} />) },
        { key: "state", name: text("state"), cell: step((row) => <code>{row.state}</code>) },
        {
            key: "name",
            name: text("name"),
            cell: (line) => (
                <span class={`depth-${line.depth}`}>
                    {line.kind === "step" ? (line.step.name ?? line.step.kind) : <Fold operation={line} isOpen={open.has(line.key)} turn={turn} />}
                </span>
            ),
        },
        { key: "target", name: text("target"), head: true, cell: (line) => (line.kind === "step" ? <Target step={line.step} /> : text("steps_inside", { n: line.steps.length })) },
        { key: "outcome", name: text("outcome"), cell: step((row) => <Outcome step={row} />) },
        { key: "attempt", name: text("attempt"), number: true, cell: (line) => line.kind === "step" && line.step.attempt },
        { key: "duration", name: text("duration"), number: true, cell: step((row) => <Duration ms={row.durationMs} />) },
        { key: "bytes", name: text("bytes"), number: true, cell: step((row) => row.bytes) },
        { key: "hand-out", name: text("hand_out"), number: true, cell: step((row) => row.handOut) },
        { key: "life", name: text("life"), number: true, cell: step((row) => row.life) },
        { key: "node", name: text("node"), cell: step((row) => row.node) },
        { key: "key", name: text("key"), cell: (line) => line.kind === "step" && line.step.key && <code>{line.step.key}</code> },
    ];
}

function Numbers({ line }: { line: StepLine }) {
    if (line.kind === "step") return <>{line.step.number}</>;
    const [first, last] = [line.steps[0]?.number, line.steps.at(-1)?.number];
    return <>{first === last ? first : `${first}–${last}`}</>;
}

function Fold({ operation, isOpen, turn }: { operation: Operation; isOpen: boolean; turn: (key: string) => void }) {
    return (
        <span class="fold">
            <Button small kind="quiet" expanded={isOpen} onClick={() => turn(operation.key)}>
                <Icon name={isOpen ? "down" : "right"} />
                <code>{`do ${operation.name}`}</code>
            </Button>
        </span>
    );
}

function Target({ step }: { step: Step }) {
    return (
        <>
            <code>{step.target}</code>
            {step.error && <span class="sub bad-text">{step.error}</span>}
        </>
    );
}

function Outcome({ step }: { step: Step }) {
    return (
        <>
            <Badge word={step.outcome} tone={step.outcome === "failed" ? "bad" : "good"} /> {step.status}
            {step.class && <code class="sub">{step.class}</code>}
        </>
    );
}
