// What the order asked that is answered later, and the answers; an open request can be answered by hand.

import { useState } from "preact/hooks";
import { change, read, type Schemas } from "../../api/client";
import { Badge } from "../../parts/badge";
import { Button } from "../../parts/button";
import { ActionDialog } from "../../parts/dialog";
import { Field } from "../../parts/field";
import { WhenSeen } from "../../parts/seen";
import type { Column } from "../../parts/table";
import { common } from "../../text/common";
import { order as text } from "../../text/order";
import { Exact } from "./exact";
import { JsonField, parsedJson } from "./json-field";
import { ListTable, type ListOf } from "./list";
import { Detail } from "./lists";

type Request = Schemas["RequestView"];
type Callback = Schemas["CallbackView"];

export const REQUESTS: ListOf<Request> = {
    request: (id, query) => read("/v1/orders/{id}/requests", { id }, query),
    size: "limit",
    place: (at) => ({ cursor: at }),
};
export const CALLBACKS: ListOf<Callback> = {
    request: (id, query) => read("/v1/orders/{id}/callbacks", { id }, query),
    size: "limit",
    place: (at) => ({ cursor: at }),
};

const TONES = { open: "wait", answered: "good", timeout: "bad", canceled: "plain" } as const;
const VERDICTS = { accepted: "good", duplicate: "plain", late: "warn", orphan: "warn" } as const;

function requestColumns(answer: (name: string) => void): Column<Request>[] {
    return [
        { key: "name", name: text("request"), head: true, cell: (row) => <code>{row.name}</code> },
        { key: "status", name: text("status"), cell: (row) => <Badge word={row.status} tone={TONES[row.status as keyof typeof TONES]} /> },
        {
            key: "answer",
            name: text("action"),
            cell: (row) =>
                row.status === "open" && (
                    <Button small needs="operator" onClick={() => answer(row.name)}>
                        {text("act_answer")}
                    </Button>
                ),
        },
        { key: "cancel", name: text("given_up"), cell: (row) => <GivenUp request={row} /> },
        { key: "system", name: text("system"), cell: (row) => row.system },
        { key: "registered", name: text("registered"), cell: (row) => <Exact at={row.registeredAt} /> },
        { key: "closed", name: text("closed"), cell: (row) => <Exact at={row.closedAt} /> },
        { key: "visit", name: text("visit"), number: true, cell: (row) => row.visit },
        { key: "life", name: text("life"), number: true, cell: (row) => row.life },
    ];
}

const CANCELS = { ready: "plain", pending: "warn", done: "good", failed: "bad" } as const;

/** The call by which the called system learns that nobody wants its answer. */
function GivenUp({ request }: { request: Request }) {
    const { cancel, cancelError } = request;
    if (!cancel) return <span class="faint">{common("none")}</span>;
    const word = cancel as keyof typeof CANCELS;
    return (
        <>
            <Badge word={text(`given_up_${word}`)} tone={CANCELS[word]} />
            {cancelError && <span class={word === "failed" ? "sub bad-text" : "sub"}>{cancelError}</span>}
        </>
    );
}

const callbackColumns = (): Column<Callback>[] => [
    { key: "request", name: text("request"), head: true, cell: (row) => <code>{row.request}</code> },
    { key: "verdict", name: text("verdict"), cell: (row) => <Badge word={row.verdict} tone={VERDICTS[row.verdict as keyof typeof VERDICTS]} /> },
    { key: "received", name: text("received"), cell: (row) => <Exact at={row.receivedAt} /> },
    { key: "step-status", name: text("step_status"), cell: (row) => row.stepStatus },
    { key: "life", name: text("life"), number: true, cell: (row) => row.life },
    { key: "body", name: text("body"), cell: (row) => <Detail value={row.body} summary={text("body")} /> },
    { key: "headers", name: text("headers"), cell: (row) => <Detail value={row.headers} summary={text("headers")} /> },
];

/** `eager`: the callbacks are asked for at once. */
export function Requests({ id, eager }: { id: string; eager: boolean }) {
    const [answered, setAnswered] = useState<string>();
    return (
        <div class="stack">
            <ListTable
                id={id}
                list={REQUESTS}
                title={text("requests")}
                columns={requestColumns(setAnswered)}
                keyOf={(row) => `${row.life} ${row.visit} ${row.name} ${row.registeredAt}`}
                emptyText={text("requests_empty")}
            />
            <WhenSeen title={text("callbacks")} act={text("show")} eager={eager}>
                {() => <Callbacks id={id} />}
            </WhenSeen>
            {answered !== undefined && <AnswerDialog id={id} request={answered} onClose={() => setAnswered(undefined)} />}
        </div>
    );
}

function Callbacks({ id }: { id: string }) {
    const keyOf = (row: Callback) => `${row.request} ${row.receivedAt}`;
    return <ListTable id={id} list={CALLBACKS} title={text("callbacks")} columns={callbackColumns()} keyOf={keyOf} emptyText={text("callbacks_empty")} param="callbacks" />;
}

function AnswerDialog({ id, request, onClose }: { id: string; request: string; onClose: () => void }) {
    const [body, setBody] = useState("");
    const [stepStatus, setStepStatus] = useState("");
    const parsed = parsedJson(body);
    return (
        <ActionDialog
            title={`${text("act_answer")}: ${request}`}
            act={text("act_answer")}
            reason="required"
            disabled={parsed.error !== undefined}
            request={(reason) =>
                change("POST", "/v1/orders/{id}/requests/{request}/answer", { id, request }, { body: parsed.value, stepStatus: stepStatus || undefined, reason })
            }
            onDone={onClose}
            onClose={onClose}
        >
            <p class="note">{text("warn_answer")}</p>
            <JsonField label={text("body")} hint={text("body_hint")} text={body} onChange={setBody} />
            <Field label={text("opt_step_status")}>{(field) => <input id={field} value={stepStatus} onInput={(event) => setStepStatus(event.currentTarget.value)} />}</Field>
        </ActionDialog>
    );
}
