// Sentences of the engine in parts: times, which people read in their zone; orders, which have pages; words, set apart.

export interface Part {
    readonly kind: "text" | "word" | "order" | "time";
    readonly text: string;
}

const TIME = String.raw`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z`;
const PARTS = new RegExp(`(?<time>${TIME})|(?<before>\\border )?\`(?<word>[^\`]*)\``, "g");

/** Parts of a sentence. What stands in backticks behind the word "order" is the id of one. */
export function partsOf(sentence: string): Part[] {
    const parts: Part[] = [];
    const plain = (text: string) => {
        if (text !== "") parts.push({ kind: "text", text });
    };
    let at = 0;
    for (const found of sentence.matchAll(PARTS)) {
        const { time, before, word } = found.groups ?? {};
        plain(sentence.slice(at, found.index) + (before ?? ""));
        if (time !== undefined) parts.push({ kind: "time", text: time });
        else parts.push({ kind: before === undefined ? "word" : "order", text: word ?? "" });
        at = found.index + found[0].length;
    }
    plain(sentence.slice(at));
    return parts;
}
