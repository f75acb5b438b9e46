// The search: a dialog over the page, opened by `/` or Ctrl-K. Its index is fetched when somebody types for the first time.

import MiniSearch, { type SearchResult } from "minisearch";
import { ASKED, OPTIONS } from "./search.mjs";

/** Results that are shown. */
const SHOWN = 12;

interface Parts {
    readonly dialog: HTMLDialogElement;
    readonly input: HTMLInputElement;
    readonly list: HTMLElement;
    readonly said: HTMLElement;
}

let index: Promise<MiniSearch> | undefined;
let current = -1;

export function search() {
    const dialog = document.querySelector<HTMLDialogElement>("dialog.search");
    const [input, list, said] = [dialog?.querySelector("input"), dialog?.querySelector<HTMLElement>("#found"), dialog?.querySelector<HTMLElement>(".said")];
    const button = document.querySelector<HTMLButtonElement>("[data-search]");
    if (!dialog || !input || !list || !said || !button) return;
    const parts = { dialog, input, list, said };
    const open = () => {
        if (!dialog.open) dialog.showModal();
        input.select();
    };
    button.hidden = false;
    button.addEventListener("click", open);
    document.addEventListener("keydown", (event) => {
        const isKey = event.key === "/" && !event.ctrlKey && !event.metaKey && !event.altKey && !isTyping(event.target);
        if (!isKey && !(event.key === "k" && (event.ctrlKey || event.metaKey))) return;
        event.preventDefault();
        open();
    });
    dialog.addEventListener("click", (event) => event.target === dialog && dialog.close());
    input.addEventListener("input", () => void find(parts));
    input.addEventListener("keydown", (event) => move(parts, event));
    list.addEventListener("click", () => dialog.close());
}

function isTyping(target: EventTarget | null) {
    return target instanceof HTMLElement && target.closest("input, textarea, select, [contenteditable]") !== null;
}

async function load(): Promise<MiniSearch> {
    const { base, index: name } = document.documentElement.dataset;
    const answer = await fetch(`${base ?? ""}${name ?? ""}`);
    if (!answer.ok) throw new Error(`status ${answer.status}`);
    return MiniSearch.loadJSON(await answer.text(), OPTIONS);
}

async function find(parts: Parts) {
    const asked = parts.input.value.trim();
    if (asked === "") return show(parts, [], "");
    try {
        index ??= load();
        const loaded = await index;
        // What was typed meanwhile is looked for by its own event.
        if (parts.input.value.trim() !== asked) return;
        const results = loaded.search(asked, ASKED);
        show(parts, results.slice(0, SHOWN), results.length === 0 ? "Nothing was found. Fewer words find more." : count(results.length));
    } catch (error) {
        index = undefined;
        show(parts, [], `The index could not be loaded (${error instanceof Error ? error.message : String(error)}). Type on to try again.`);
    }
}

function count(results: number) {
    return results === 1 ? "1 section" : results > SHOWN ? `${results} sections; the first ${SHOWN} are shown` : `${results} sections`;
}

function show({ input, list, said }: Parts, results: SearchResult[], words: string) {
    list.replaceChildren(...results.map(option));
    said.textContent = words;
    input.setAttribute("aria-expanded", String(results.length > 0));
    current = -1;
    if (results.length > 0) mark(input, list, 0);
    else input.removeAttribute("aria-activedescendant");
}

function option(result: SearchResult, place: number) {
    const item = document.createElement("li");
    item.id = `found-${place}`;
    item.setAttribute("role", "option");
    item.setAttribute("aria-selected", "false");
    const link = document.createElement("a");
    link.href = `${document.documentElement.dataset["base"] ?? ""}${String(result["address"])}`;
    link.tabIndex = -1;
    link.append(line("found-page", [result["group"], result["page"]].filter(Boolean).join(" › ")));
    link.append(line("found-heading", String(result["heading"] || result["page"])), line("found-start", String(result["start"])));
    item.append(link);
    return item;
}

function line(name: string, text: string) {
    const span = document.createElement("span");
    span.className = name;
    span.textContent = text;
    return span;
}

function mark(input: HTMLElement, list: HTMLElement, place: number) {
    list.children[current]?.setAttribute("aria-selected", "false");
    const item = list.children[place];
    if (!item) return;
    current = place;
    item.setAttribute("aria-selected", "true");
    item.scrollIntoView({ block: "nearest" });
    input.setAttribute("aria-activedescendant", item.id);
}

function move({ input, list }: Parts, event: KeyboardEvent) {
    const count = list.children.length;
    if (event.key === "Enter") {
        event.preventDefault();
        list.children[current]?.querySelector("a")?.click();
        return;
    }
    const step = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : 0;
    if (step === 0 || count === 0) return;
    event.preventDefault();
    mark(input, list, (current + step + count) % count);
}
