// Differences of two texts, line by line, by the algorithm of Myers: the shortest way from one to the other.

export interface DiffLine {
    readonly kind: "same" | "gone" | "new";
    readonly text: string;
    /** Numbers of the line in the texts that have it, from 1. */
    readonly before?: number;
    readonly after?: number;
}

/** Changes beyond which two texts count as having nothing in common: the search costs their square. */
const MOST_CHANGES = 2_000;

/** Lines of both texts in one order. */
export function lineDiff(before: string, after: string): DiffLine[] {
    const [old, made] = [linesOf(before), linesOf(after)];
    let head = 0;
    while (head < old.length && head < made.length && old[head] === made[head]) head += 1;
    let tail = 0;
    while (tail < old.length - head && tail < made.length - head && old[old.length - 1 - tail] === made[made.length - 1 - tail]) tail += 1;
    const between = changes(old.slice(head, old.length - tail), made.slice(head, made.length - tail));
    return numbered([
        ...old.slice(0, head).map((text) => ({ kind: "same" as const, text })),
        ...between,
        ...old.slice(old.length - tail).map((text) => ({ kind: "same" as const, text })),
    ]);
}

/** Lines of a text; the end of the last one begins no other. */
function linesOf(text: string): string[] {
    return text === "" ? [] : text.replace(/\n$/, "").split("\n");
}

type Bare = Pick<DiffLine, "kind" | "text">;

function numbered(lines: readonly Bare[]): DiffLine[] {
    let [before, after] = [0, 0];
    return lines.map((line) => {
        if (line.kind !== "new") before += 1;
        if (line.kind !== "gone") after += 1;
        return { ...line, ...(line.kind === "new" ? {} : { before }), ...(line.kind === "gone" ? {} : { after }) };
    });
}

function changes(old: readonly string[], made: readonly string[]): Bare[] {
    const trace = search(old, made);
    if (!trace) return [...old.map((text) => ({ kind: "gone" as const, text })), ...made.map((text) => ({ kind: "new" as const, text }))];
    return walkBack(old, made, trace);
}

/** Furthest points of each diagonal, change by change; nothing where there are too many. */
function search(old: readonly string[], made: readonly string[]): Map<number, number>[] | undefined {
    const trace: Map<number, number>[] = [];
    let reach = new Map([[1, 0]]);
    for (let count = 0; count <= Math.min(old.length + made.length, MOST_CHANGES); count += 1) {
        trace.push(reach);
        const next = new Map(reach);
        for (let diagonal = -count; diagonal <= count; diagonal += 2) {
            let x = startOf(reach, diagonal, count);
            while (x < old.length && x - diagonal < made.length && old[x] === made[x - diagonal]) x += 1;
            next.set(diagonal, x);
            if (x >= old.length && x - diagonal >= made.length) return trace;
        }
        reach = next;
    }
    return undefined;
}

function comesFromAbove(reach: ReadonlyMap<number, number>, diagonal: number, count: number): boolean {
    return diagonal === -count || (diagonal !== count && (reach.get(diagonal - 1) ?? -1) < (reach.get(diagonal + 1) ?? -1));
}

function startOf(reach: ReadonlyMap<number, number>, diagonal: number, count: number): number {
    return comesFromAbove(reach, diagonal, count) ? (reach.get(diagonal + 1) ?? 0) : (reach.get(diagonal - 1) ?? 0) + 1;
}

function walkBack(old: readonly string[], made: readonly string[], trace: readonly Map<number, number>[]): Bare[] {
    const lines: Bare[] = [];
    let [x, y] = [old.length, made.length];
    for (let count = trace.length - 1; count >= 0; count -= 1) {
        const reach = trace[count] ?? new Map<number, number>();
        const fromAbove = comesFromAbove(reach, x - y, count);
        const diagonal = x - y + (fromAbove ? 1 : -1);
        const [fromX, fromY] = count === 0 ? [0, 0] : [reach.get(diagonal) ?? 0, (reach.get(diagonal) ?? 0) - diagonal];
        const [cornerX, cornerY] = count === 0 ? [0, 0] : fromAbove ? [fromX, fromY + 1] : [fromX + 1, fromY];
        while (x > cornerX && y > cornerY) {
            x -= 1;
            y -= 1;
            lines.push({ kind: "same", text: old[x] ?? "" });
        }
        if (count > 0) lines.push(fromAbove ? { kind: "new", text: made[fromY] ?? "" } : { kind: "gone", text: old[fromX] ?? "" });
        [x, y] = [fromX, fromY];
    }
    return lines.reverse();
}

/** A run of lines that are shown, or a number of equal ones that are left out. */
export type DiffPart = { readonly lines: readonly DiffLine[] } | { readonly left: number };

/** Parts around the changes, with some equal lines at each side. */
export function partsOf(lines: readonly DiffLine[], around = 3): DiffPart[] {
    const near = lines.map(() => false);
    for (const [index, line] of lines.entries()) {
        if (line.kind === "same") continue;
        for (let at = Math.max(0, index - around); at <= Math.min(lines.length - 1, index + around); at += 1) near[at] = true;
    }
    const parts: DiffPart[] = [];
    let start = 0;
    while (start < lines.length) {
        let end = start;
        while (end < lines.length && near[end] === near[start]) end += 1;
        parts.push(near[start] ? { lines: lines.slice(start, end) } : { left: end - start });
        start = end;
    }
    return parts;
}
