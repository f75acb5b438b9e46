import { useState } from "preact/hooks";
import { change, type Schemas } from "../../api/client";
import { Badge } from "../../parts/badge";
import { ActionDialog, Dialog } from "../../parts/dialog";
import { Field } from "../../parts/field";
import { Json } from "../../parts/json";
import { order as text } from "../../text/order";
import { orderAction } from "../../text/order-actions";
import type { DialogProps } from "./actions";
import { JsonField, parsedJson } from "./json-field";

type Answer = Schemas["CallView"];

/** Calls an order, and shows what it answers. */
export function CallDialog({ order, onDone, onClose }: DialogProps) {
    const [name, setName] = useState("");
    const [body, setBody] = useState("");
    const [answer, setAnswer] = useState<Answer>();
    const parsed = parsedJson(body);
    if (answer) return <AnswerDialog answer={answer} onClose={onDone} />;
    return (
        <ActionDialog<Answer>
            title={`${orderAction("act_call")}: ${order.id}`}
            act={orderAction("act_call")}
            disabled={parsed.error !== undefined || name.trim() === ""}
            request={(reason) => change("POST", "/v1/orders/{id}/calls", { id: order.id }, { name: name.trim(), body: parsed.value, ...(reason && { reason }) }, { timeout: "10s" })}
            onDone={setAnswer}
            onClose={onClose}
        >
            <p class="note plain">{orderAction("warn_call")}</p>
            <Field label={orderAction("call_name")} hint={orderAction("call_name_hint")}>
                {(id) => <input id={id} value={name} required autocomplete="off" spellcheck={false} onInput={(event) => setName(event.currentTarget.value)} />}
            </Field>
            <JsonField label={text("body")} hint={text("body_hint")} text={body} onChange={setBody} />
        </ActionDialog>
    );
}

function AnswerDialog({ answer, onClose }: { answer: Answer; onClose: () => void }) {
    return (
        <Dialog title={orderAction("call_answer")} onClose={onClose}>
            <div class="dialog-body">
                <p>
                    <Badge word={answer.status} tone={answer.status === "failed" ? "bad" : answer.status === "answered" ? "good" : "wait"} />
                </p>
                {answer.status === "waiting" && <p>{orderAction("call_waiting")}</p>}
                {answer.error && <p class="problem">{answer.error.message}</p>}
                {answer.answer !== undefined && <Json value={answer.answer} />}
            </div>
        </Dialog>
    );
}
