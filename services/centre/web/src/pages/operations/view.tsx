// What the list of operations and the page of one show alike.

import type { Schemas } from "../../api/client";
import { number, percent } from "../../app/time";
import { operations as text } from "../../text/operations";
import { Badge } from "../../parts/badge";
import { queryOf, selectionOfBody } from "../orders/selection";
import { textOf } from "../orders/words";

export type Operation = Schemas["OperationView"];

/** Orders that the operation is through with, whatever their outcome. */
export function passed(operation: Operation): number {
    return operation.done + operation.skipped + operation.failed;
}

export function isOver(operation: Operation): boolean {
    return operation.state === "done" || operation.state === "aborted";
}

/** Progress as a bar and in numbers: colour and length alone say nothing to readers. */
export function Progress({ operation }: { operation: Operation }) {
    const { total } = operation;
    const done = passed(operation);
    const share = total > 0 ? done / total : 0;
    return (
        <span class="operation-progress">
            <progress value={done} max={Math.max(total, 1)} aria-label={text("progress_of", { done, total })} />
            <span class="number">
                {number(done)}/{number(total)}
                {total > 0 && <span class="faint"> {percent(share)}</span>}
            </span>
        </span>
    );
}

/** Colours of words that elsewhere mean something else, like `open`, or nothing. */
const TONES = {
    aborted: "warn",
    open: "plain",
    skipped: "warn",
    failed: "bad",
    succeeded: "good",
    failed_again: "bad",
    failed_otherwise: "bad",
    left: "plain",
} as const;

/** State of an operation, or outcome of one of its orders. */
export function Outcome({ word }: { word: string | null | undefined }) {
    return <Badge word={word} tone={TONES[word as keyof typeof TONES]} />;
}

/** The orders of an operation as conditions, which lead to the list of orders. */
export function Orders({ operation }: { operation: Operation }) {
    if (operation.again)
        return (
            <>
                {text("again_of")} <a href={`/operations/${operation.again}`}>{operation.again}</a>
            </>
        );
    const selection = selectionOfBody(operation.search);
    return (
        <a href={`/orders${queryOf(selection)}`}>
            <code>{textOf(selection)}</code>
        </a>
    );
}

/** Person or program that asked for it. */
export function whoOf(by: unknown): string {
    const { name, door, from } = (by ?? {}) as { name?: string | null; door?: string; from?: string };
    return name ?? [door, from].filter(Boolean).join(" ");
}
