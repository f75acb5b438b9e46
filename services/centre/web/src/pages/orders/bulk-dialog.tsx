// The window for acting on many orders: the action, which orders it would take, the pace, the reason.

import { useEffect, useMemo, useState } from "preact/hooks";
import { Failure, json, type Schemas } from "../../api/client";
import { asCommand, asCurl } from "../../api/command";
import { go, to } from "../../app/router";
import { unique } from "../../app/unique";
import { common } from "../../text/common";
import { orders as text } from "../../text/orders";
import { reasonText } from "../../text/reason";
import { ActionDialog } from "../../parts/dialog";
import { CopyLine } from "../../parts/page";
import { ActionChoice, ActionFields, Pace } from "./bulk-fields";
import { EMPTY, ENDING, commandOf, objectOf, operationRequest, previewRequest, type Draft, type Orders } from "./bulk";
import { textOf } from "./words";

type Outcome = Schemas["OperationOutcome"];

/** What is known of the orders that an operation would take. */
type Preview = { kind: "waiting" } | { kind: "known"; outcome: Outcome } | { kind: "failed"; failure: Failure };

/** Pause after the last letter, before the server is asked what it would be. */
const PAUSE = 400;

interface Props {
    title: string;
    orders: Orders;
    /** The draft to begin with. */
    begin?: Partial<Draft>;
    onClose: () => void;
}

export function BulkDialog({ title, orders, begin, onClose }: Props) {
    const [draft, setDraft] = useState<Draft>({ ...EMPTY, ...begin });
    const key = useMemo(unique, []);
    const preview = usePreview(orders, draft);
    const count = preview.kind === "known" ? (preview.outcome.orders ?? 0) : undefined;
    const isWrong = objectOf(draft.more) === undefined;
    const change = (part: Partial<Draft>) => setDraft({ ...draft, ...part });
    return (
        <ActionDialog<Outcome>
            title={title}
            act={count === undefined ? text("bulk_start") : text("bulk_start_n", { action: draft.action, n: count })}
            danger={ENDING.includes(draft.action)}
            reason="required"
            disabled={isWrong || count === undefined || (count === 0 && draft.follow.trim() === "")}
            request={(reason) => operationRequest(orders, draft, reason, `${key}-${draft.action}`)}
            onDone={(outcome) => {
                onClose();
                if (outcome.operation) go(to("operations", String(outcome.operation.no)));
            }}
            onClose={onClose}
        >
            {"selection" in orders && (
                <p>
                    {text("bulk_conditions")} <code>{textOf(orders.selection)}</code>
                </p>
            )}
            {!("again" in orders) && <ActionChoice draft={draft} onChange={change} />}
            {!("again" in orders) && (
                <ActionFields draft={draft} onChange={change} failure={preview.kind === "failed" ? preview.failure : undefined} />
            )}
            <PreviewNote preview={preview} />
            <Pace draft={draft} onChange={change} />
            <AsRequest orders={orders} draft={draft} />
        </ActionDialog>
    );
}

/** Asks which orders it would be whenever the request changes. An old answer is never shown for a new request. */
function usePreview(orders: Orders, draft: Draft): Preview {
    const [preview, setPreview] = useState<Preview>({ kind: "waiting" });
    const request = previewRequest(orders, draft);
    const body = JSON.stringify(request.body);
    useEffect(() => {
        const asking = new AbortController();
        setPreview({ kind: "waiting" });
        const timer = window.setTimeout(() => {
            json<Outcome>(request, asking.signal).then(
                (outcome) => setPreview({ kind: "known", outcome }),
                (error: unknown) => {
                    if (!asking.signal.aborted)
                        setPreview({ kind: "failed", failure: error instanceof Failure ? error : new Failure(0, { detail: String(error) }) });
                },
            );
        }, PAUSE);
        return () => {
            window.clearTimeout(timer);
            asking.abort();
        };
    }, [body]);
    return preview;
}

function PreviewNote({ preview }: { preview: Preview }) {
    if (preview.kind === "failed") {
        const { failure } = preview;
        return (
            <p class="problem" role="alert">
                {reasonText(failure)}
            </p>
        );
    }
    return (
        <div class="note plain" role="status">
            <strong>{text("bulk_preview")}</strong> {preview.kind === "waiting" ? common("loading") : <Found outcome={preview.outcome} />}
        </div>
    );
}

function Found({ outcome }: { outcome: Outcome }) {
    const n = outcome.orders ?? 0;
    if (n === 0) return <>{text("bulk_none")}</>;
    return (
        <>
            {outcome.complete === false ? text("bulk_at_least", { n }) : text("bulk_orders", { n })}
            {outcome.examples && outcome.examples.length > 0 && (
                <p>
                    {text("bulk_examples")}{" "}
                    {outcome.examples.map((id) => (
                        <a key={id} class="example" href={to("orders", id)} target="_blank" rel="noopener">
                            {id}
                        </a>
                    ))}
                </p>
            )}
        </>
    );
}

function AsRequest({ orders, draft }: { orders: Orders; draft: Draft }) {
    const command = commandOf(orders, draft, "…");
    return (
        <details>
            <summary>{text("bulk_request")}</summary>
            <CopyLine name={common("as_curl")} text={asCurl(operationRequest(orders, draft, "…"), window.location.origin)} />
            {command && <CopyLine name={common("as_command")} text={asCommand(command)} />}
        </details>
    );
}
