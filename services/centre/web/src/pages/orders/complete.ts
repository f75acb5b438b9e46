// Completion of the query bar: what can stand where the caret is.

import { CONDITIONS, NAMES, conditionOf, type ConditionName, type Source } from "./conditions";
import { quoted, wordsOf, written, type Word } from "./words";

/** Something that may be written, and the place that it takes. */
export interface Suggestion {
    readonly from: number;
    readonly to: number;
    readonly insert: string;
    /** What the list shows. */
    readonly shown: string;
    /** The condition that it begins or belongs to. */
    readonly name: ConditionName;
    /** Whether it is a value, so that a further condition may follow. */
    readonly isWhole: boolean;
}

/** Values of the engine's lists, as far as they are known; of `params` the paths of the scenario's parameters. */
export type KnownValues = Partial<Record<Source | "params", readonly string[]>>;

const MOST = 12;
const DURATIONS = ["15m", "1h", "2h", "6h", "1d", "7d"];

/** The word that the caret stands in or behind. */
function wordAt(text: string, caret: number): Word {
    const none: Word = { from: caret, to: caret, name: "", valueFrom: undefined, value: "" };
    return wordsOf(text).find((word) => word.from < caret && caret <= word.to) ?? none;
}

/** The list of the engine that the value at the caret is completed from: it is asked for when it is first needed. */
export function sourceAt(text: string, caret: number): Source | undefined {
    const word = wordAt(text, caret);
    if (word.valueFrom === undefined || caret < word.valueFrom) return undefined;
    return conditionOf(word.name)?.condition.from;
}

/** The scenario whose parameters the name at the caret is completed from. */
export function paramsAt(text: string, caret: number): string | undefined {
    if (!wordAt(text, caret).name.startsWith("params.")) return undefined;
    return wordsOf(text).find((word) => word.name === "scenario" && word.value !== "")?.value;
}

/** What may stand at the caret, the likeliest first. */
export function suggestions(text: string, caret: number, known: KnownValues = {}): Suggestion[] {
    const word = wordAt(text, caret);
    if (word.valueFrom === undefined || caret < word.valueFrom) return namesAt(word, text, known);
    return valuesAt(word, text, caret, known).slice(0, MOST);
}

function namesAt(word: Word, text: string, known: KnownValues): Suggestion[] {
    const place = { from: word.from, to: word.valueFrom ?? word.to };
    if (word.name.startsWith("params.")) {
        const paths = matching(known.params ?? [], word.name.slice("params.".length));
        return paths.map((path) => ({ ...place, insert: `params.${path}:`, shown: `params.${path}:`, name: "params", isWhole: false }));
    }
    const given = new Set(
        wordsOf(text)
            .filter((other) => other.from !== word.from)
            .map(({ name }) => name),
    );
    const free = NAMES.filter((name) => !given.has(name));
    const names = matching(free, word.name).map((name): Suggestion => {
        const insert = CONDITIONS[name].kind === "path" ? `${name}.` : `${name}:`;
        return { ...place, insert, shown: insert, name, isWhole: false };
    });
    if (word.name === "" || word.valueFrom !== undefined) return names;
    // An id alone means orders of that id.
    const pasted = (["idPrefix", "transactionId", "text"] as const).filter((name) => !given.has(name));
    const found = pasted.map((name): Suggestion => {
        const insert = written(name, word.name);
        return { ...place, insert, shown: insert, name, isWhole: true };
    });
    return names.length > 0 && names.length < NAMES.length ? [...names.slice(0, MOST - found.length), ...found] : found;
}

function valuesAt(word: Word, text: string, caret: number, known: KnownValues): Suggestion[] {
    const found = conditionOf(word.name);
    const start = word.valueFrom;
    if (!found || start === undefined) return [];
    const { name, condition } = found;
    const isList = condition.kind === "list";
    // Of a list, the part between the commas around the caret is completed.
    const before = text.slice(start, caret);
    const from = start + (isList ? before.lastIndexOf(",") + 1 : 0);
    const comma = isList ? text.slice(caret, word.to).indexOf(",") : -1;
    const to = comma < 0 ? word.to : caret + comma;
    const typed = text.slice(from, caret).replace(/"/g, "");
    const chosen = isList ? word.value.split(",").filter((one) => one !== typed) : [];
    const values = valuesOf(name, known).filter((one) => !chosen.includes(one));
    return matching(values, typed).map((value) => ({ from, to, insert: quoted(value), shown: value, name, isWhole: true }));
}

function valuesOf(name: ConditionName, known: KnownValues): readonly string[] {
    const condition = CONDITIONS[name];
    if (condition.words) return condition.words;
    if (condition.from) return known[condition.from] ?? [];
    if (condition.kind === "flag") return ["true", "false"];
    if (condition.kind === "time") return DURATIONS;
    return [];
}

/** Words that have the typed text in them, those that begin with it first. */
function matching<W extends string>(words: readonly W[], typed: string): W[] {
    const wanted = typed.toLowerCase();
    const begin = words.filter((word) => word.toLowerCase().startsWith(wanted));
    return wanted === "" ? begin : [...begin, ...words.filter((word) => !begin.includes(word) && word.toLowerCase().includes(wanted))];
}

/** The text with a suggestion taken, and the place of the caret behind it. */
export function taken(text: string, one: Suggestion): { text: string; caret: number } {
    const rest = text.slice(one.to);
    const space = one.isWhole && !/^[\s,]/.test(rest) && CONDITIONS[one.name].kind !== "list" ? " " : "";
    const made = text.slice(0, one.from) + one.insert + space;
    return { text: made + rest, caret: made.length };
}
