// What an event of the stream changes of an order that is shown, before the order itself is asked for again.

import type { OrderEvent } from "../../api/live";
import type { Order } from "./permitted";

/** An order with the status and state of an event, unless it has changed since. */
export function amended(order: Order, { at, status, ...event }: OrderEvent): Order {
    const step = event.step ?? null;
    const isOld = Date.parse(at) < Date.parse(order.updatedAt);
    return isOld || (order.status === status && order.step === step) ? order : { ...order, status, step };
}
