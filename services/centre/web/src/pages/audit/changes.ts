// Lines that two texts have in common, and those that one of them has alone.

export interface DiffLine {
    readonly kind: "same" | "removed" | "added";
    readonly text: string;
}

/** Pairs of lines that are compared at most; beyond, the middle of the texts counts as exchanged. */
const MOST = 1_000_000;

/** The shortest way from one text to another, line by line. */
export function lineDiff(before: readonly string[], after: readonly string[]): DiffLine[] {
    let start = 0;
    while (start < before.length && start < after.length && before[start] === after[start]) start++;
    let end = 0;
    while (end < before.length - start && end < after.length - start && before.at(-1 - end) === after.at(-1 - end)) end++;
    const lines = (kind: DiffLine["kind"], texts: readonly string[]) => texts.map((text) => ({ kind, text }));
    const [left, right] = [before.slice(start, before.length - end), after.slice(start, after.length - end)];
    const middle = left.length * right.length > MOST ? [...lines("removed", left), ...lines("added", right)] : byCommon(left, right);
    return [...lines("same", before.slice(0, start)), ...middle, ...lines("same", before.slice(before.length - end))];
}

function byCommon(left: readonly string[], right: readonly string[]): DiffLine[] {
    const width = right.length + 1;
    // Length of what is common behind each pair of places.
    const common = new Uint32Array((left.length + 1) * width);
    const at = (row: number, column: number) => common[row * width + column] ?? 0;
    for (let row = left.length - 1; row >= 0; row--) {
        for (let column = right.length - 1; column >= 0; column--) {
            const longest = left[row] === right[column] ? at(row + 1, column + 1) + 1 : Math.max(at(row + 1, column), at(row, column + 1));
            common[row * width + column] = longest;
        }
    }
    const found: DiffLine[] = [];
    let [row, column] = [0, 0];
    while (row < left.length || column < right.length) {
        const [one, other] = [left[row], right[column]];
        if (one !== undefined && one === other) {
            found.push({ kind: "same", text: one });
            row++;
            column++;
        } else if (one !== undefined && (other === undefined || at(row + 1, column) >= at(row, column + 1))) {
            found.push({ kind: "removed", text: one });
            row++;
        } else {
            found.push({ kind: "added", text: other ?? "" });
            column++;
        }
    }
    return found;
}

/** Lines of a value as JSON, its fields by name; none for a value that is not there. */
export function jsonLines(value: unknown): string[] {
    return value === null || value === undefined ? [] : JSON.stringify(sorted(value), null, 2).split("\n");
}

function sorted(value: unknown): unknown {
    if (Array.isArray(value)) return value.map(sorted);
    if (typeof value !== "object" || value === null) return value;
    const fields = Object.entries(value).sort(([one], [other]) => (one < other ? -1 : 1));
    return Object.fromEntries(fields.map(([name, field]) => [name, sorted(field)]));
}
