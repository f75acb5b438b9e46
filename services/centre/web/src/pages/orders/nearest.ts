// The known word that somebody probably meant.

/** Changes, insertions, removals and swaps of neighbours that make one word the other. */
export function distance(from: string, to: string): number {
    const rows: number[][] = [Array.from({ length: to.length + 1 }, (_, at) => at)];
    for (let row = 1; row <= from.length; row++) {
        const line = [row];
        for (let at = 1; at <= to.length; at++) {
            const same = from[row - 1] === to[at - 1];
            const above = rows[row - 1] ?? [];
            let least = Math.min((above[at] ?? 0) + 1, (line[at - 1] ?? 0) + 1, (above[at - 1] ?? 0) + (same ? 0 : 1));
            if (from[row - 1] === to[at - 2] && from[row - 2] === to[at - 1]) least = Math.min(least, (rows[row - 2]?.[at - 2] ?? Infinity) + 1);
            line.push(least);
        }
        rows.push(line);
    }
    return rows[from.length]?.[to.length] ?? 0;
}

/**
 * The nearest of the known words: one that begins alike, or differs by a mistake for each three letters. Nothing where none is near
 * enough to be meant.
 */
export function nearest(word: string, known: readonly string[]): string | undefined {
    const wanted = word.toLowerCase();
    const allowed = Math.min(3, Math.max(1, Math.floor(wanted.length / 3)));
    let best: string | undefined;
    let least = allowed + 1;
    for (const one of known) {
        const away = distance(wanted, one.toLowerCase());
        if (away < least) [best, least] = [one, away];
    }
    if (best !== undefined || wanted.length < 4) return best;
    return known
        .filter((one) => commonStart(one.toLowerCase(), wanted) >= 4)
        .sort((one, other) => commonStart(other.toLowerCase(), wanted) - commonStart(one.toLowerCase(), wanted))[0];
}

function commonStart(one: string, other: string): number {
    let length = 0;
    while (length < one.length && one[length] === other[length]) length++;
    return length;
}
