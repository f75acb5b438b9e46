// Where a refusal is shown: at the field that its JSON pointer names, or at the nearest one around it.

import type { Failure } from "../../api/client";

export interface Refusal {
    /** Messages by the pointers of the fields that show them. */
    readonly at: ReadonlyMap<string, string>;
    /** Messages that no field shows. */
    readonly others: readonly string[];
}

interface Detail {
    readonly pointer?: string;
    readonly message?: string;
    readonly hint?: string | null;
}

/** The refusal of a registration, over the fields that are shown. */
export function refusalOf(failure: Pick<Failure, "message" | "pointer" | "problem">, shown: readonly string[]): Refusal {
    const listed = failure.problem["errors"];
    const details: readonly Detail[] =
        Array.isArray(listed) && listed.length > 0 ? (listed as Detail[]) : [{ pointer: failure.pointer ?? "", message: failure.message }];
    const at = new Map<string, string>();
    const others: string[] = [];
    for (const { pointer = "", message = "", hint } of details) {
        const text = hint ? `${message} (${hint})` : message;
        const place = placeOf(pointer, shown);
        if (place === undefined) others.push(pointer === "" ? text : `${pointer.slice(1).replaceAll("/", ".")}: ${text}`);
        else at.set(place, at.has(place) ? `${at.get(place)}; ${text}` : text);
    }
    return { at, others };
}

/** The field of a pointer: its own, or the nearest one that has it within. */
function placeOf(pointer: string, shown: readonly string[]): string | undefined {
    for (let place = pointer; place !== ""; place = place.slice(0, place.lastIndexOf("/"))) {
        if (shown.includes(place)) return place;
    }
    return undefined;
}
