// Places of orders that wait for each other: what comes first stands at the left.

export interface Waiting {
    readonly order: string;
    readonly after: string;
}

export interface Placed {
    readonly id: string;
    readonly column: number;
    readonly row: number;
}

/** Columns by the longest way from an order that waits for nothing, rows in the order of the nodes. A cycle ends somewhere. */
export function placedOrders(ids: readonly string[], edges: readonly Waiting[]): Placed[] {
    const columns = new Map(ids.map((id) => [id, 0]));
    for (let round = 0; round < ids.length; round += 1) {
        let moved = false;
        for (const { order, after } of edges) {
            const wanted = (columns.get(after) ?? 0) + 1;
            if (wanted <= (columns.get(order) ?? 0) || wanted >= ids.length) continue;
            columns.set(order, wanted);
            moved = true;
        }
        if (!moved) break;
    }
    const filled = new Map<number, number>();
    return ids.map((id) => {
        const column = columns.get(id) ?? 0;
        const row = filled.get(column) ?? 0;
        filled.set(column, row + 1);
        return { id, column, row };
    });
}
