// The order of the book: it is written once, as the lists of docs/README.md.

import MarkdownIt from "markdown-it";
import { resolved } from "./repository.mjs";

const markdown = new MarkdownIt();

/**
 * Reads the lists of a page: each item names a page by its first link. Headings of the second level are groups, those of the third
 * are parts of a group.
 */
export function listed(path, text) {
    const groups = [];
    let group, part, isItem = false;
    const tokens = markdown.parse(text, {});
    tokens.forEach((token, index) => {
        if (token.type === "heading_open" && token.tag !== "h1") {
            const title = tokens[index + 1].content;
            if (token.tag === "h2") groups.push((group = { title, parts: [(part = { title: "", entries: [] })] }));
            else group?.parts.push((part = { title, entries: [] }));
        }
        if (token.type === "list_item_open") isItem = true;
        if (token.type !== "inline" || !isItem) return;
        isItem = false;
        const at = token.children.findIndex((one) => one.type === "link_open");
        const target = at < 0 ? undefined : resolved(path, token.children[at].attrGet("href").split("#")[0]);
        if (!target) return;
        if (!group) groups.push((group = { title: "", parts: [(part = { title: "", entries: [] })] }));
        const end = token.children.findIndex((one, place) => place > at && one.type === "link_close");
        const title = token.children.slice(at, end).map((one) => one.content).join("");
        part.entries.push({ path: target, title });
    });
    return groups.map(({ title, parts }) => ({ title, parts: parts.filter(({ entries }) => entries.length > 0) })).filter(({ parts }) => parts.length > 0);
}

/** Every page that a page links to, with the words of its link. */
export function linked(path, text) {
    const inside = markdown.parse(text, {}).flatMap((token) => token.children ?? []);
    return inside.flatMap((part, at) => {
        if (part.type !== "link_open") return [];
        const target = resolved(path, part.attrGet("href").split("#")[0]);
        return target?.endsWith(".md") ? [{ path: target, title: inside[at + 1].content }] : [];
    });
}

/** All entries of groups, in order. */
export function entriesOf(groups) {
    return groups.flatMap(({ title, parts }) => parts.flatMap(({ entries }) => entries.map((entry) => ({ ...entry, group: title }))));
}
