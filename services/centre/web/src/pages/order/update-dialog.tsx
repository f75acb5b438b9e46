// Changes an order that has not gone on yet: what is left as it is, is not sent.

import { useState } from "preact/hooks";
import { change } from "../../api/client";
import { ActionDialog } from "../../parts/dialog";
import { Field, Select } from "../../parts/field";
import { order as text } from "../../text/order";
import { orderAction } from "../../text/order-actions";
import type { DialogProps } from "./actions";
import { JsonField, parsedJson } from "./json-field";

const PRIORITIES = ["high", "normal", "low"] as const;
type Priority = (typeof PRIORITIES)[number];

export function UpdateDialog({ order, onDone, onClose }: DialogProps) {
    const [priority, setPriority] = useState(order.priority as Priority);
    const [startAt, setStartAt] = useState(order.startAt ?? "");
    const [params, setParams] = useState("");
    const parsed = parsedJson(params, true);
    const isTime = startAt === "" || !Number.isNaN(Date.parse(startAt));
    const start = startAt === (order.startAt ?? "") ? {} : { lifecycle: { startAt: startAt || null } };
    const body = {
        ...start,
        ...(priority === order.priority ? {} : { priority }),
        ...(parsed.value === undefined ? {} : { params: parsed.value }),
    };
    const ready = parsed.error === undefined && isTime && Object.keys(body).length > 0;
    return (
        <ActionDialog
            title={`${orderAction("act_update")}: ${order.id}`}
            act={orderAction("act_update")}
            disabled={!ready}
            request={(reason) => change("PATCH", "/v1/orders/{id}", { id: order.id }, { ...body, reason: reason || undefined })}
            onDone={onDone}
            onClose={onClose}
        >
            <p class="note plain">{orderAction("warn_update")}</p>
            <Field label={text("start_at")} hint={orderAction("opt_start_hint")} error={isTime ? undefined : orderAction("wrong_time")}>
                {(id) => <input id={id} value={startAt} autocomplete="off" spellcheck={false} onInput={(event) => setStartAt(event.currentTarget.value.trim())} />}
            </Field>
            <JsonField label={orderAction("opt_params")} hint={orderAction("opt_params_hint")} text={params} object onChange={setParams} />
            <div class="check-field">
                <Select label={text("priority")} value={priority} options={PRIORITIES.map((value) => ({ value, text: value }))} onChange={setPriority} />
            </div>
        </ActionDialog>
    );
}
