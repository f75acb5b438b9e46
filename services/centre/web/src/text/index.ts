// Text that people read, in English and Russian. A dictionary has both languages side by side, and the compiler finds a key
// that one of them lacks.

import { computed, signal } from "@preact/signals";
import { need } from "../app/needs";
import { stored } from "../app/stored";

export const LANGUAGES = ["en", "ru"] as const;
export type Language = (typeof LANGUAGES)[number];

/** A whole message, or its forms by the plural rule of the value `n`. `{name}` stands for a value. */
export type Message = string | { readonly one: string; readonly few?: string; readonly many?: string; readonly other: string };
export type Values = Record<string, string | number>;

const preferred: Language = typeof navigator !== "undefined" && navigator.language.startsWith("ru") ? "ru" : "en";

/** Language of the page. It is chosen by `speak`. */
export const language = stored<Language>("language", LANGUAGES, preferred);

const rules = computed(() => new Intl.PluralRules(language.value));
const numbers = computed(() => new Intl.NumberFormat(language.value));

/** A message with its values filled in. */
export function filled(message: Message, values: Values, plural: Intl.PluralRules, number: Intl.NumberFormat): string {
    const text = typeof message === "string" ? message : formOf(message, Number(values["n"]), plural);
    return text.replace(/\{(\w+)\}/g, (_, name: string) => {
        const value = values[name] ?? "";
        return typeof value === "number" ? number.format(value) : value;
    });
}

function formOf(message: Exclude<Message, string>, n: number, plural: Intl.PluralRules): string {
    const rule = plural.select(n);
    return (rule === "one" ? message.one : rule === "few" ? message.few : rule === "many" ? message.many : undefined) ?? message.other;
}

type Words<K extends string> = Readonly<Record<K, Message>>;
/** Gives the text of a key in the language of the page. */
type Reader<K extends string> = (key: K, values?: Values) => string;

/**
 * A dictionary: `const text = dictionary({ title: "Flows" }, { title: "Потоки" })`, read as `text("title")`.
 * The second language has exactly the keys of the first. A file that has dictionaries exports nothing else: the bundle takes
 * each language of it into a file of its own, and puts `loaded` in the place of `dictionary`.
 */
export function dictionary<K extends string>(en: Words<K>, ru: Words<NoInfer<K>>): Reader<K> {
    const both = { en, ru };
    return reader(() => both[language.value]);
}

const loads: ((language: Language) => Promise<void>)[] = [];

/** A dictionary whose languages are loaded when they are spoken. Until then its texts are empty. */
export function loaded<K extends string>(files: Readonly<Record<Language, () => Promise<{ default: Words<K> }>>>): Reader<K> {
    const known = signal<Partial<Record<Language, Words<K>>>>({});
    const load = async (wanted: Language) => {
        if (known.peek()[wanted]) return;
        const { default: words } = await files[wanted]();
        known.value = { ...known.peek(), [wanted]: words };
    };
    loads.push(load);
    need(() => load(language.peek()));
    return reader(() => known.value[language.value]);
}

/** Changes the language of the page, once all words of the other are there. Rejects, and changes nothing, if one cannot be loaded. */
export async function speak(wanted: Language): Promise<void> {
    await Promise.all(loads.map((load) => load(wanted)));
    language.value = wanted;
}

function reader<K extends string>(words: () => Words<K> | undefined): Reader<K> {
    return (key, values = {}) => {
        const message = words()?.[key];
        return message === undefined ? "" : filled(message, values, rules.value, numbers.value);
    };
}
