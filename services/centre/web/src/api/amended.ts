// Changes of shown orders by events of the stream, before the orders are asked for again.

import type { OrderEvent } from "./live";

/** Order of which an event may say something new. */
interface Changing {
    readonly id: string;
    readonly status: string;
    readonly step?: string | null;
    readonly updatedAt: string;
}

/** An order with the status and state of an event of it, unless it has changed since. */
export function amended<T extends Changing>(order: T, { at, status, ...event }: OrderEvent): T {
    const step = event.step ?? null;
    const isOld = Date.parse(at) < Date.parse(order.updatedAt);
    return isOld || (order.status === status && (order.step ?? null) === step) ? order : { ...order, status, step };
}

/** A page of orders with the status and state of an event of one of them; the same page if it says nothing new. */
export function amendedPage<R extends Changing, P extends { readonly items: readonly R[] }>(page: P, event: OrderEvent): P {
    const place = page.items.findIndex((row) => row.id === event.order);
    const before = page.items[place];
    const row = before && amended(before, event);
    return row && row !== before ? { ...page, items: page.items.with(place, row) } : page;
}
