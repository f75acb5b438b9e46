// What operators do with an order: buttons by its status, each with a window that says what will happen.

import { useState } from "preact/hooks";
import { change } from "../../api/client";
import { to, toWith } from "../../app/router";
import { Button } from "../../parts/button";
import { ActionDialog } from "../../parts/dialog";
import { order as text } from "../../text/order";
import { orderAction } from "../../text/order-actions";
import { CallDialog } from "./call-dialog";
import { permitted, type Action, type Order } from "./permitted";
import { Preview } from "./preview";
import { RepairDialog, RestartDialog } from "./restart-dialog";
import { UpdateDialog } from "./update-dialog";

const DANGEROUS: readonly Action[] = ["cancel", "kill"];

export interface DialogProps {
    order: Order;
    onDone: () => void;
    onClose: () => void;
}

export function Actions({ order, refresh }: { order: Order; refresh: () => void }) {
    const [open, setOpen] = useState<Action>();
    const close = () => setOpen(undefined);
    const done = () => {
        close();
        refresh();
    };
    return (
        <>
            {permitted(order).map((action) => (
                <Button key={action} kind={action === "restart" ? "primary" : "plain"} needs={action === "repair" ? "admin" : "operator"} onClick={() => setOpen(action)}>
                    {orderAction(`act_${action}`)}
                </Button>
            ))}
            {order.status === "wait" && (
                <a class="button" href={`${to("orders", order.id)}?tab=requests`}>
                    {text("act_answer")}
                </a>
            )}
            <a class="button" href={toWith("orders/new", { clone: order.id })}>
                {orderAction("act_clone")}
            </a>
            {open && <OneDialog action={open} order={order} onDone={done} onClose={close} />}
        </>
    );
}

function OneDialog({ action, ...props }: DialogProps & { action: Action }) {
    if (action === "restart") return <RestartDialog {...props} />;
    if (action === "repair") return <RepairDialog {...props} />;
    if (action === "update") return <UpdateDialog {...props} />;
    if (action === "call") return <CallDialog {...props} />;
    return <SimpleDialog action={action} {...props} />;
}

const PATHS = {
    cancel: "/v1/orders/{id}/cancel",
    interrupt: "/v1/orders/{id}/interrupt",
    kill: "/v1/orders/{id}/kill",
    resend: "/v1/orders/{id}/resend",
    check: "/v1/orders/{id}/check",
} as const;

/** An action that takes a reason and nothing else. */
function SimpleDialog({ action, order, onDone, onClose }: DialogProps & { action: keyof typeof PATHS }) {
    const asked = (reason: string) => change("POST", PATHS[action], { id: order.id }, { reason: reason || undefined });
    const tried = action === "cancel" || action === "interrupt" || action === "kill";
    return (
        <ActionDialog
            title={`${orderAction(`act_${action}`)}: ${order.id}`}
            act={orderAction(`act_${action}`)}
            danger={DANGEROUS.includes(action)}
            request={asked}
            onDone={onDone}
            onClose={onClose}
        >
            <p class={DANGEROUS.includes(action) ? "note bad" : "note plain"}>{orderAction(`warn_${action}`)}</p>
            <Preview request={tried ? asked("") : undefined} />
        </ActionDialog>
    );
}
