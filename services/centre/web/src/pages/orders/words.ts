// The text of the query bar: conditions like `status:fail,retry`, apart by spaces, values with spaces in quotes.

import { CONDITIONS, NAMES, conditionOf, type Condition } from "./conditions";
import { nearest } from "./nearest";
import type { Selection } from "./selection";

/** A condition of the text, with its place. */
export interface Word {
    readonly from: number;
    readonly to: number;
    /** Name before the colon; all of it where there is no colon. */
    readonly name: string;
    /** Place of the value; nothing where there is no colon. */
    readonly valueFrom: number | undefined;
    readonly value: string;
}

/** What is wrong with a condition, as a key of the dictionary and its values, and the condition to write instead. */
export interface Fault {
    readonly kind:
        | "no_colon"
        | "unknown_name"
        | "unknown_word"
        | "no_value"
        | "not_a_number"
        | "not_a_flag"
        | "not_a_time"
        | "twice"
        | "no_path"
        | "saved_alone"
        | "needs_scenario";
    readonly name: string;
    readonly value: string;
    readonly instead?: readonly string[];
}

/** The words of a text. A quote that is not closed goes to the end. */
export function wordsOf(text: string): Word[] {
    const words: Word[] = [];
    let at = 0;
    while (at < text.length) {
        if (/\s/.test(text[at] ?? "")) {
            at++;
            continue;
        }
        const word = wordAt(text, at);
        words.push(word);
        at = word.to;
    }
    return words;
}

function wordAt(text: string, from: number): Word {
    let [at, colon, value, quoted] = [from, -1, "", false];
    for (; at < text.length; at++) {
        const letter = text[at] ?? "";
        if (!quoted && /\s/.test(letter)) break;
        if (colon < 0) {
            if (letter === ":" || letter === "=") colon = at;
        } else if (letter === '"') quoted = !quoted;
        else if (letter === "\\" && quoted && /["\\]/.test(text[at + 1] ?? "")) value += text[++at];
        else value += letter;
    }
    const name = text.slice(from, colon < 0 ? at : colon);
    return { from, to: at, name, valueFrom: colon < 0 ? undefined : colon + 1, value };
}

/** A condition as it is written in the bar. */
export function written(name: string, value: string): string {
    return `${name}:${quoted(value)}`;
}

/** A value as it is written: in quotes where it would end early. */
export function quoted(value: string): string {
    return value === "" || /[\s"\\]/.test(value) ? `"${value.replace(/["\\]/g, "\\$&")}"` : value;
}

/** The text of a selection. */
export function textOf(selection: Selection): string {
    return selection.map(([name, value]) => written(name, value)).join(" ");
}

/** The selection of a text, and what is wrong with it. */
export function parsed(text: string): { selection: Selection; faults: Fault[] } {
    const selection: [string, string][] = [];
    const faults: Fault[] = [];
    for (const word of wordsOf(text)) {
        const same = selection.find(([name]) => name === word.name);
        if (word.valueFrom === undefined) faults.push(bareWord(word.name));
        else if (!same) selection.push([word.name, word.value]);
        else if (conditionOf(word.name)?.condition.kind === "list") same[1] += `,${word.value}`;
        else faults.push({ kind: "twice", name: word.name, value: word.value });
    }
    return { selection, faults: [...faults, ...faultsOf(selection)] };
}

/** The text with the condition at fault written otherwise; the same name once more is taken out. */
export function mended(text: string, fault: Fault, instead: string): string {
    const parts: string[] = [];
    for (const word of wordsOf(text)) {
        const made = word.name === fault.name ? instead : text.slice(word.from, word.to);
        if (!parts.includes(made)) parts.push(made);
    }
    return parts.join(" ");
}

/** A word alone: a name that lacks its value, or a value that lacks its name. */
function bareWord(word: string): Fault {
    const name = nearest(word, NAMES);
    const found = ["idPrefix", "transactionId", "text"].map((name) => written(name, word));
    return { kind: "no_colon", name: word, value: "", instead: name ? [`${name}:`, ...found] : found };
}

/** What is wrong with the conditions of a selection, before the server is asked. */
export function faultsOf(selection: Selection): Fault[] {
    const faults: Fault[] = [];
    for (const [name, value] of selection) {
        const fault = faultOf(name, value);
        if (fault) faults.push(fault);
    }
    const has = (name: string) => selection.some(([other]) => other === name);
    if (has("saved") && selection.length > 1) faults.push({ kind: "saved_alone", name: "saved", value: "" });
    if (has("scenarioVersion") && !has("scenario")) faults.push({ kind: "needs_scenario", name: "scenarioVersion", value: "" });
    return faults;
}

function faultOf(name: string, value: string): Fault | undefined {
    const found = conditionOf(name);
    if (!found) {
        const start = name.split(".")[0] ?? name;
        if (Object.hasOwn(CONDITIONS, start) && CONDITIONS[start as keyof typeof CONDITIONS].kind === "path") return { kind: "no_path", name, value };
        const meant = nearest(start, NAMES);
        return { kind: "unknown_name", name, value, ...(meant ? { instead: [written(meant, value)] } : {}) };
    }
    return faultOfValue(found.condition, name, value);
}

function faultOfValue(condition: Condition, name: string, value: string): Fault | undefined {
    if (value === "" && !condition.none && condition.kind !== "path") return { kind: "no_value", name, value };
    if (condition.words) {
        const words = condition.words;
        const given = condition.kind === "list" ? value.split(",") : [value];
        const unknown = given.find((one) => !words.includes(one));
        if (unknown === undefined) return undefined;
        const meant = nearest(unknown, words);
        const instead = meant === undefined ? undefined : [written(name, given.map((one) => (one === unknown ? meant : one)).join(","))];
        return { kind: "unknown_word", name, value: unknown, ...(instead ? { instead } : {}) };
    }
    if (condition.kind === "number" && !/^\d{1,9}$/.test(value)) return { kind: "not_a_number", name, value };
    if (condition.kind === "flag" && value !== "true" && value !== "false")
        return { kind: "not_a_flag", name, value, instead: [`${name}:true`, `${name}:false`] };
    if (condition.kind === "time" && !isTime(value)) return { kind: "not_a_time", name, value };
    return undefined;
}

/** A time with an offset, or a duration back from now, like `1h30m`. */
function isTime(value: string): boolean {
    if (value === "0" || /^(?=\d)(\d+d)?(\d+h)?(\d+m(?!s))?(\d+s)?(\d+ms)?$/.test(value)) return true;
    return /^\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:?\d\d)$/.test(value) && !Number.isNaN(Date.parse(value));
}
