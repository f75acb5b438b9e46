// The form of a page: what stands around its text.

import { escaped } from "./code.mjs";

const MARK = '<svg viewBox="0 0 32 32" aria-hidden="true"><rect width="32" height="32" rx="8"/><path d="M22.5 21.5a7.6 7.6 0 1 1 1.6-8.3 5 5 0 1 1-6.3 5.6 2.6 2.6 0 0 1 3.4-2.7"/></svg>';
const GLASS = '<svg class="icon" viewBox="0 0 20 20" aria-hidden="true"><circle cx="9" cy="9" r="5.5"/><path d="m13.2 13.2 3.8 3.8"/></svg>';
const ICON = "data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 32 32'%3E%3Crect width='32' height='32' rx='8' fill='%230f5f6b'/%3E%3Cpath d='M22.5 21.5a7.6 7.6 0 1 1 1.6-8.3 5 5 0 1 1-6.3 5.6 2.6 2.6 0 0 1 3.4-2.7' fill='none' stroke='%23ff9b7a' stroke-width='2.6' stroke-linecap='round'/%3E%3C/svg%3E";

/**
 * A whole page. `base` stands before the names of other pages: nothing but on the page for addresses that lead nowhere, which
 * is shown at any depth. `assets` has the names of script, style and index.
 */
export function whole(page, { groups, assets, base = "" }) {
    const { path, title, html, headings, group, before, after } = page;
    const name = title === "Documentation" ? "Pagurus documentation" : `${title} · Pagurus`;
    return `<!doctype html>
<html lang="en" data-index="${base}${assets.index}" data-base="${base}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${escaped(name)}</title>
<link rel="icon" href="${ICON}">
<script src="${base}${assets.theme}"></script>
<link rel="stylesheet" href="${base}${assets.style}">
<script type="module" src="${base}${assets.script}"></script>
</head>
<body>
<a class="skip" href="#content">Skip to the text</a>
${header(base)}
<div class="frame${page.isPlain ? " plain" : page.isHome ? " start" : ""}">
${page.isPlain ? "" : `<nav class="side" aria-label="Documentation">${navigation(groups, page, base)}</nav>`}
<main id="content" tabindex="-1">
${page.isPlain ? "" : '<details class="menu"><summary>All pages</summary></details>'}
<article${page.isHome ? ' class="home"' : ""}>
${group && !page.isHome ? `<p class="group">${escaped(group)}</p>` : ""}
${html}
</article>
${neighbours(before, after, base)}
${path ? `<footer>From <code>${escaped(path)}</code> of the repository, as it was built with this program.</footer>` : ""}
</main>
${page.isHome ? "" : outline(headings)}
</div>
${dialog()}
</body>
</html>
`;
}

function header(base) {
    return `<header class="top">
<a class="brand" href="${base}index.html">${MARK}<span>Pagurus <span class="what">documentation</span></span></a>
<button type="button" class="go" data-search hidden>${GLASS}<span>Search</span><kbd>/</kbd></button>
<nav class="links" aria-label="This engine"><a href="${base}../../docs">API</a><a href="${base}../../">Control centre</a></nav>
<button type="button" class="theme" data-theme-button hidden></button>
</header>`;
}

function navigation(groups, page, base) {
    return groups.map(({ title, parts }, at) => {
        const isOpen = page.isHome ? at === 0 : title === page.group;
        const lists = parts.map(({ title: part, entries }) => {
            const items = entries.map((entry) => item(entry, page, base)).join("");
            return `${part ? `<h3>${escaped(part)}</h3>` : ""}<ul>${items}</ul>`;
        });
        return `<details name="group"${isOpen ? " open" : ""}><summary>${escaped(title)}</summary>${lists.join("")}</details>`;
    }).join("\n");
}

function item({ name, title, below }, page, base) {
    const isBelow = below.some((one) => one.name === page.name);
    const inside = (isBelow || name === page.name) && below.length > 0 ? `<ul>${below.map((one) => item({ ...one, below: [] }, page, base)).join("")}</ul>` : "";
    return `<li><a href="${base}${name}"${name === page.name ? ' aria-current="page"' : ""}>${escaped(title)}</a>${inside}</li>`;
}

function neighbours(before, after, base) {
    if (!before && !after) return "";
    const one = (entry, words, kind) => (entry ? `<a class="${kind}" href="${base}${entry.name}"><span>${words}</span> ${escaped(entry.title)}</a>` : "");
    return `<nav class="neighbours" aria-label="Pages before and after">${one(before, "Before:", "before")}${one(after, "Next:", "after")}</nav>`;
}

function outline(headings) {
    const shown = headings.filter(({ level }) => level === 2 || level === 3);
    if (shown.length < 2) return '<div class="outline"></div>';
    const items = shown.map(({ level, text, anchor }) => `<li class="level-${level}"><a href="#${anchor}">${escaped(text)}</a></li>`);
    return `<nav class="outline" aria-label="On this page"><h2>On this page</h2><ul>${items.join("")}</ul></nav>`;
}

function dialog() {
    return `<dialog class="search" aria-label="Search the documentation">
<form method="dialog"><label class="hidden-text" for="asked">Search the documentation</label>
<input id="asked" type="search" autocomplete="off" spellcheck="false" placeholder="Search the documentation">
<button value="close">Close</button></form>
<ul id="found" aria-label="Results"></ul>
<p class="said" role="status"></p>
</dialog>`;
}
