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
    dialog.addEventListener("keydown", (event) => move(parts, event));
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

function show({ list, said }: Parts, results: SearchResult[], words: string) {
    list.replaceChildren(...results.map(found));
    said.textContent = words;
}

function found(result: SearchResult) {
    const [item, link] = [document.createElement("li"), document.createElement("a")];
    link.href = `${document.documentElement.dataset["base"] ?? ""}${String(result["address"])}`;
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

/** Arrows go through the results and back to the question; Enter in the question follows the first. */
function move({ dialog, input, list }: Parts, event: KeyboardEvent) {
    // Browsers only empty the field at the first Escape.
    if (event.key === "Escape") return dialog.close();
    const links = [...list.querySelectorAll("a")];
    const present = links.findIndex((link) => link === document.activeElement);
    if (event.key === "Enter" && document.activeElement === input) {
        event.preventDefault();
        links[0]?.click();
    }
    const step = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : 0;
    if (step === 0 || (present < 0 && step < 0)) return;
    event.preventDefault();
    (links[present + step] ?? (step < 0 ? input : links[present]))?.focus();
}
