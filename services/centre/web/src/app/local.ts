// Times as the inputs of forms have them: without an offset, in the zone of the page. No DOM.

/** A time of the form as one with an offset; a text that is no time stays, and the server says so. */
export function timeOf(local: string, isUtc: boolean): string {
    const at = new Date(isUtc ? `${local}Z` : local);
    return Number.isNaN(at.getTime()) ? local : at.toISOString().replace(".000Z", "Z");
}

/** A time as the form's inputs take it, in the zone of the page. */
export function localOf(time: string, isUtc: boolean): string {
    const at = new Date(time);
    const shifted = new Date(at.getTime() - (isUtc ? 0 : at.getTimezoneOffset() * 60_000));
    return shifted.toISOString().slice(0, 19);
}
