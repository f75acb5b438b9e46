// Text that people read, in English and Russian. A dictionary has both languages side by side, and the compiler finds a key
// that one of them lacks.

import { computed } from "@preact/signals";
import { stored } from "../app/stored";

export const LANGUAGES = ["en", "ru"] as const;
export type Language = (typeof LANGUAGES)[number];

/** A whole message, or its forms by the plural rule of the value `n`. `{name}` stands for a value. */
export type Message = string | { readonly one: string; readonly few?: string; readonly many?: string; readonly other: string };
export type Values = Record<string, string | number>;

const preferred: Language = typeof navigator !== "undefined" && navigator.language.startsWith("ru") ? "ru" : "en";

/** Language of the page. */
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

/**
 * A dictionary: `const text = dictionary({ title: "Flows" }, { title: "Потоки" })`, read as `text("title")`.
 * The second language has exactly the keys of the first.
 */
export function dictionary<K extends string>(en: Record<K, Message>, ru: Record<NoInfer<K>, Message>): (key: K, values?: Values) => string {
    const both = { en, ru };
    return (key, values = {}) => filled(both[language.value][key], values, rules.value, numbers.value);
}
