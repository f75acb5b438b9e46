// What an action has done: it stays on the page until somebody closes it, and goes on with what one request could not do.

import type { ComponentChildren } from "preact";
import { useEffect, useState } from "preact/hooks";
import { change, json, type ApiRequest, type Schemas } from "../../api/client";
import { Button } from "../../parts/button";
import { ActionDialog } from "../../parts/dialog";
import { common } from "../../text/common";
import { flowStop } from "../../text/flow-stops";

type Shift = Schemas["ShiftOutcome"];

export interface Outcome {
    readonly words: string;
    /** Whether the active dispatcher goes by it. */
    readonly confirmed: boolean;
    readonly shift?: Shift | null | undefined;
    /** Number of a shift that moved orders behind an end which has come earlier: it is offered to be undone. */
    readonly undo?: number | undefined;
    /** Number of a shift that was undone, and what undoing it asked for. */
    readonly undone?: { readonly shift: number; readonly request: ApiRequest; readonly first: Shift };
}

export function OutcomeNote({ outcome, onClose, onOutcome }: { outcome: Outcome | undefined; onClose: () => void; onOutcome: (outcome: Outcome) => void }) {
    if (!outcome) return null;
    const { words, confirmed, shift, undo, undone } = outcome;
    return (
        <div class={confirmed ? "note good outcome" : "note outcome"} role="status">
            <div>
                {words && <p>{words}</p>}
                {!confirmed && <p>{flowStop("outcome_unconfirmed")}</p>}
                {shift && <Moved key={shift.shift} shift={shift} onOutcome={onOutcome} />}
                {undo !== undefined && <UndoOffer key={undo} shift={undo} onOutcome={onOutcome} />}
                {undone && <Undone key={undone.shift} {...undone} />}
            </div>
            <Button kind="quiet" small label={common("close")} onClick={onClose}>
                ×
            </Button>
        </div>
    );
}

/** A shift that goes on until nothing is left to be moved: one request moves a bounded number of orders. */
function useAll(first: Shift, next: (shift: Shift) => ApiRequest | undefined): { orders: number; more: boolean; failure: string | undefined } {
    const [known, setKnown] = useState<{ orders: number; more: boolean; failure: string | undefined }>({ orders: first.orders, more: first.more ?? false, failure: undefined });
    useEffect(() => {
        const asking = new AbortController();
        const goOn = async () => {
            let shift = first;
            let orders = first.orders;
            for (let request = next(shift); shift.more && request; request = next(shift)) {
                shift = await json<Shift>(request, asking.signal);
                orders += shift.orders;
                setKnown({ orders, more: shift.more ?? false, failure: undefined });
            }
        };
        goOn().catch((error: unknown) => {
            if (!asking.signal.aborted) setKnown((before) => ({ ...before, more: false, failure: error instanceof Error ? error.message : String(error) }));
        });
        return () => asking.abort();
    }, [first]);
    return known;
}

function Moved({ shift, onOutcome }: { shift: Shift; onOutcome: (outcome: Outcome) => void }) {
    const number = shift.shift ?? undefined;
    const { orders, more, failure } = useAll(shift, ({ shift: no }) => (no ? change("POST", "/v1/flows/shift", {}, { goOn: no }) : undefined));
    if (number === undefined) return <p>{flowStop("shift_none")}</p>;
    return (
        <>
            <p>{movedText(number, orders, more, failure)}</p>
            {!more && orders > 0 && <UndoButton shift={number} onOutcome={onOutcome} />}
        </>
    );
}

function UndoButton({ shift, onOutcome }: { shift: number; onOutcome: (outcome: Outcome) => void }) {
    const [open, setOpen] = useState(false);
    return (
        <>
            <Button small needs="operator" onClick={() => setOpen(true)}>
                {flowStop("shift_undo", { shift })}
            </Button>
            {open && <UndoDialog shift={shift} onClose={() => setOpen(false)} onOutcome={onOutcome} />}
        </>
    );
}

function UndoOffer({ shift, onOutcome }: { shift: number; onOutcome: (outcome: Outcome) => void }) {
    return (
        <>
            <p>{flowStop("shift_earlier", { shift })}</p>
            <UndoButton shift={shift} onOutcome={onOutcome} />
        </>
    );
}

function movedText(shift: number, n: number, more: boolean, reason: string | undefined): string {
    if (reason !== undefined) return flowStop("shift_stuck", { shift, n, reason });
    if (more) return flowStop("shift_moving", { shift, n });
    return n === 0 ? flowStop("shift_none") : flowStop("shift_moved", { shift, n });
}

function Undone({ shift, request, first }: { shift: number; request: ApiRequest; first: Shift }) {
    const { orders, more, failure } = useAll(first, () => request);
    if (failure !== undefined || more) return <p>{movedText(shift, orders, more, failure)}</p>;
    return <p>{flowStop("shift_undone", { shift, n: orders })}</p>;
}

/** Takes a shift back. Without a number it is asked for: the API has no list of shifts. */
export function UndoDialog({ shift, onClose, onOutcome, children }: { shift: number; onClose: () => void; onOutcome: (outcome: Outcome) => void; children?: ComponentChildren }) {
    const requestOf = (reason: string) => change("POST", "/v1/flows/shift", {}, { undo: shift, reason });
    const [sent, setSent] = useState<ApiRequest>();
    return (
        <ActionDialog<Shift>
            title={flowStop("shift_undo_title")}
            act={flowStop("shift_undo", { shift })}
            reason="required"
            disabled={!(shift > 0)}
            request={(reason) => {
                const request = requestOf(reason);
                setSent(request);
                return request;
            }}
            onDone={(first) => {
                onClose();
                onOutcome({ words: "", confirmed: true, undone: { shift, request: sent ?? requestOf(""), first } });
            }}
            onClose={onClose}
        >
            <p>{flowStop("shift_undo_effect")}</p>
            {children}
        </ActionDialog>
    );
}
