// What may be done with an order, by its status. The server decides; this spares people a refusal.

import type { Schemas } from "../../api/client";

export type Order = Schemas["OrderView"];
export type Action = "restart" | "interrupt" | "cancel" | "kill" | "repair" | "update" | "call" | "resend" | "check";

const BY_STATUS: Record<"restart" | "interrupt" | "cancel" | "kill" | "repair" | "update", readonly string[]> = {
    restart: ["success", "fail"],
    interrupt: ["new", "reopen", "postponed"],
    cancel: ["fail", "interrupted", "postponed", "sleep", "new", "reopen"],
    kill: ["running", "wait", "polling", "retry"],
    repair: ["sleep", "wait", "polling", "retry", "fail"],
    update: ["new", "postponed", "reopen", "sleep"],
};

const ENDED = ["success", "fail", "interrupted", "canceled"];
/** Class of an order that its node gave up; such a one may be run again although it is canceled. */
const NODE_STOPPED = "node.stopped";

type Facts = Pick<Order, "status" | "error" | "unsentNotifications" | "inconsistent">;

/** The place of an action, as the list of steps has it. */
export function placeOf({ state, action, kind }: NonNullable<Order["failedAction"]>): string {
    return `${state}[${action}]${kind ? ` ${kind}` : ""}`;
}

/** Whether an order has ended, at least until somebody restarts it. */
export function ended(order: Pick<Order, "status">): boolean {
    return ENDED.includes(order.status);
}

/** Actions that an order takes now, in the order in which they are offered. */
export function permitted(order: Facts): Action[] {
    const actions = (["restart", "interrupt", "kill", "cancel", "update", "repair"] as const).filter((action) => BY_STATUS[action].includes(order.status));
    const givenUp = order.status === "canceled" && order.error?.class === NODE_STOPPED;
    return [
        ...(givenUp ? (["restart"] as const) : []),
        ...actions,
        ...(ended(order) ? [] : (["call"] as const)),
        ...(order.unsentNotifications.length > 0 ? (["resend"] as const) : []),
        ...(order.inconsistent ? (["check"] as const) : []),
    ];
}
