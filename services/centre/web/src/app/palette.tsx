// Go to anything by keyboard: pages by name; orders, flows, systems, queues and scenarios by theirs. Ctrl+K or `/` opens it.

import { signal } from "@preact/signals";
import { useState } from "preact/hooks";
import { shell } from "../text/shell";
import { Dialog } from "../parts/dialog";
import { isFor, NAVIGATION } from "./pages";
import { go, to, toWith } from "./router";
import { may, seesWhole } from "./session";

export const paletteOpen = signal(false);

/** Opens the palette by its keys, where nobody is typing. */
export function listenForPalette(): void {
    document.addEventListener("keydown", (event) => {
        const typing = (event.target as Element | null)?.closest?.("input, textarea, select, [contenteditable], dialog");
        const wanted = (event.key === "k" && (event.ctrlKey || event.metaKey)) || (event.key === "/" && !typing);
        if (!wanted) return;
        event.preventDefault();
        paletteOpen.value = true;
    });
}

export function Palette() {
    return paletteOpen.value ? (
        <Dialog title={shell("go_to")} onClose={() => (paletteOpen.value = false)}>
            <Search />
        </Dialog>
    ) : null;
}

interface Target {
    name: string;
    address: string;
}

/** Things with a page of their own: their word, and the address of the page. */
const THINGS = [
    ["order_named", (name: string) => to("orders", name)],
    ["flow_named", (name: string) => to("flows", name)],
    ["system_named", (name: string) => to("systems", name)],
    ["queue_named", (name: string) => to("queues", name)],
    ["scenario_named", (name: string) => to("scenarios", name)],
    ["audit_named", (name: string) => toWith("audit", { subject: name })],
] as const;

/** Things of this name. A text that starts with the word of a kind, such as `flow billing`, names one of that kind. */
function thingsOf(text: string): Target[] {
    const kinds = THINGS.filter(([key]) => key !== "audit_named" || (may("operator") && seesWhole.value));
    const said = kinds.flatMap(([key, addressOf]) => {
        const word = shell(key, { name: "" });
        const name = text.slice(word.length);
        return name !== "" && text.toLowerCase().startsWith(word.toLowerCase()) ? [{ name: shell(key, { name }), address: addressOf(name) }] : [];
    });
    return said.length > 0 ? said : kinds.map(([key, addressOf]) => ({ name: shell(key, { name: text }), address: addressOf(text) }));
}

function targetsOf(text: string): Target[] {
    const wanted = text.trim().toLowerCase();
    const entries = NAVIGATION.flatMap(({ entries }) => entries).filter(isFor);
    const pages = entries
        .map((entry) => ({ name: shell(entry.name), address: `/${entry.page}` }))
        .filter(({ name }) => name.toLowerCase().includes(wanted));
    const named = text.trim();
    return named === "" ? pages : [...pages, ...thingsOf(named)];
}

function Search() {
    const [text, setText] = useState("");
    const [at, setAt] = useState(0);
    const targets = targetsOf(text);
    const chosen = Math.min(at, targets.length - 1);
    const open = (target: Target | undefined) => {
        if (!target) return;
        paletteOpen.value = false;
        go(target.address);
    };
    const onKeyDown = (event: KeyboardEvent) => {
        const step = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : 0;
        if (step !== 0) {
            event.preventDefault();
            setAt((chosen + step + targets.length) % targets.length);
        }
    };
    return (
        <form
            class="palette"
            onSubmit={(event) => {
                event.preventDefault();
                open(targets[chosen]);
            }}
        >
            <input
                autofocus
                role="combobox"
                aria-expanded="true"
                aria-controls="palette-list"
                aria-activedescendant={`palette-${chosen}`}
                aria-label={shell("go_placeholder")}
                placeholder={shell("go_placeholder")}
                value={text}
                onKeyDown={onKeyDown}
                onInput={(event) => {
                    setText(event.currentTarget.value);
                    setAt(0);
                }}
            />
            <ul id="palette-list" role="listbox" aria-label={shell("go_to")}>
                {targets.map((target, index) => (
                    <li key={target.address} id={`palette-${index}`} role="option" aria-selected={index === chosen} onClick={() => open(target)}>
                        {target.name}
                    </li>
                ))}
            </ul>
        </form>
    );
}
