// The site from the checkout: pages, pictures and the index, as files by name, and every fault that was found on the way.

import { createHash } from "node:crypto";
import { posix } from "node:path";
import { coloured, escaped } from "./code.mjs";
import { entriesOf, linked, listed } from "./contents.mjs";
import { whole } from "./layout.mjs";
import { rendered } from "./markdown.mjs";
import { nameOf } from "./repository.mjs";
import { indexOf } from "./search.mjs";

/** The page whose lists are the order of the book. */
const BOOK = "docs/README.md";
/** Descriptions that the engine serves itself, as it is configured. */
const SERVED = { "docs/openapi.json": "../../openapi.json", "docs/asyncapi.json": "../../asyncapi.json" };
/** Bytes up to which a file that is no page can be read in the site. */
const LARGEST = 64 * 1024;
/** Where the engine serves the site. */
const HOME = "/docs/guide/";

/** A name that tells the contents of its file, so that browsers keep it for good. */
export function hashed(path, bytes) {
    const { name, ext } = posix.parse(path);
    return `${name.toLowerCase()}-${createHash("sha256").update(bytes).digest("hex").slice(0, 10)}${ext}`;
}

/** Makes the site. `assets` are the names of its script, its style and its theme. */
export function site(repository, assets) {
    const work = { repository, files: new Map(), pages: new Map(), wanted: [BOOK], faults: [] };
    const addresses = { page: (path) => addressOf(work, path), picture: (path) => pictureOf(work, path) };
    while (work.wanted.length > 0) {
        const path = work.wanted.shift();
        const page = { path, name: nameOf(path, repository.kind(path)), ...readable(work, path, addresses) };
        work.pages.set(path, page);
        work.faults.push(...page.faults);
    }
    const groups = book(work);
    checkAnchors(work);
    const pages = [...work.pages.values()];
    const index = indexOf(pages.filter(({ path }) => path.endsWith(".md") && path !== BOOK));
    const indexName = hashed("index.json", index);
    work.files.set(indexName, index);
    const frame = { groups, assets: { ...assets, index: indexName } };
    for (const page of pages) put(work, page.name, whole(page, frame), page.path);
    work.files.set("404.html", whole(LOST, { ...frame, base: HOME }));
    return { files: work.files, faults: work.faults, index: indexName, pages: pages.length };
}

const LOST = {
    name: "404.html", title: "There is no such page", headings: [],
    html: `<h1>There is no such page</h1><p>Pages move from version to version. <a href="${HOME}index.html">The start of the documentation</a> lists all of them; <kbd>/</kbd> searches them.</p>`,
};

function put(work, name, contents, path) {
    if (work.files.has(name)) work.faults.push(`${path}: another page is called ${name}, too`);
    work.files.set(name, contents);
}

/** Address of a file or a folder; asks for its page. Nothing where there is none. */
function addressOf(work, path) {
    if (SERVED[path]) return SERVED[path];
    const kind = work.repository.kind(path);
    if (!kind) return undefined;
    const readme = `${path}/README.md`;
    if (kind === "folder" && work.repository.kind(readme)) return addressOf(work, readme);
    if (!work.pages.has(path) && !work.wanted.includes(path)) work.wanted.push(path);
    return nameOf(path, kind);
}

function pictureOf(work, path) {
    if (work.repository.kind(path) !== "file") return undefined;
    const bytes = work.repository.bytes(path);
    const name = hashed(path, bytes);
    work.files.set(name, bytes);
    return name;
}

/** The text of a page, of a file, or the list of a folder. */
function readable(work, path, addresses) {
    const { repository } = work;
    if (path.endsWith(".md")) return rendered(path, repository.text(path), addresses);
    const of = { title: path, isPlain: true, headings: [], sections: [], links: [], faults: [] };
    const head = `<p class="group">Repository</p><h1 class="path">${escaped(path)}</h1>`;
    if (repository.kind(path) === "folder") return { ...of, html: `${head}${list(repository, path, addresses)}` };
    const bytes = repository.bytes(path);
    if (!repository.isText(path) || bytes.length > LARGEST) {
        return { ...of, html: `${head}<p>This file of the repository is not shown here: it is no text, or too long (${Math.ceil(bytes.length / 1024)} KiB).</p>` };
    }
    return { ...of, html: `${head}<div class="code"><pre><code>${coloured(bytes.toString("utf8").trimEnd(), posix.extname(path).slice(1))}</code></pre></div>` };
}

function list(repository, path, addresses) {
    const items = repository.names(path).map((name) => {
        const inside = `${path}/${name.replace(/\/$/, "")}`;
        const isShown = name.endsWith("/") || repository.isText(name);
        return `<li>${isShown ? `<a href="${addresses.page(inside)}"><code>${escaped(name)}</code></a>` : `<code>${escaped(name)}</code>`}</li>`;
    });
    return `<ul class="names">${items.join("")}</ul>`;
}

/** The groups of the book with the names of their pages; gives each page its place. */
function book(work) {
    const groups = listed(BOOK, work.repository.text(BOOK));
    const main = entriesOf(groups);
    const listedTwice = main.filter(({ path }, at) => main.findIndex((other) => other.path === path) < at);
    work.faults.push(...listedTwice.map(({ path }) => `${BOOK}: ${path} is listed twice`));
    const page = ({ path }) => {
        const kind = work.repository.kind(path);
        const readme = `${path}/README.md`;
        return work.pages.get(kind === "folder" && work.repository.kind(readme) ? readme : path);
    };
    const named = (entry) => ({ title: entry.title, name: SERVED[entry.path] ?? page(entry)?.name, below: below(work, entry) });
    const shown = groups.map((group) => ({ ...group, parts: group.parts.map((part) => ({ ...part, entries: part.entries.map(named) })) }));
    const order = main.filter((entry) => page(entry)?.path.endsWith(".md"));
    order.forEach((entry, at) => {
        Object.assign(page(entry), { group: entry.group, before: linkTo(order[at - 1]), after: linkTo(order[at + 1]) });
        for (const one of below(work, entry)) Object.assign(work.pages.get(one.path), { group: entry.group });
    });
    function linkTo(entry) {
        return entry && { name: page(entry).name, title: entry.title };
    }
    const home = work.pages.get(BOOK);
    // A card has the words of an entry below its name, where the list has them behind a colon.
    const html = home.html.replaceAll(/<\/a>[:,] (\S)/g, (_, first) => `</a> ${first.toUpperCase()}`);
    Object.assign(home, { html, isHome: true, after: linkTo(order[0]) });
    const known = new Set([BOOK, ...main.flatMap((entry) => [page(entry)?.path, ...below(work, entry).map(({ path }) => path)])]);
    const missing = work.repository.pages("docs").filter((path) => !known.has(path));
    work.faults.push(...missing.map((path) => `${path}: no list of ${BOOK} names this page, nor does the README.md of its folder`));
    return shown;
}

/** Pages of a folder that its README.md names, which is itself in the book. */
function below(work, { path }) {
    const folder = posix.dirname(path);
    if (posix.basename(path) !== "README.md" || folder === "docs" || !work.pages.has(path)) return [];
    const inside = linked(path, work.repository.text(path)).filter((entry) => posix.dirname(entry.path) === folder && work.pages.has(entry.path));
    return inside.map((entry) => ({ path: entry.path, title: entry.title, name: nameOf(entry.path) }));
}

function checkAnchors(work) {
    for (const page of work.pages.values()) {
        for (const { path, anchor, href, line } of page.links) {
            const target = work.pages.get(path) ?? work.pages.get(`${path}/README.md`);
            if (target && !target.headings.some((heading) => heading.anchor === anchor)) {
                work.faults.push(`${page.path}:${line}: \`${href}\`: ${target.path} has no heading \`#${anchor}\``);
            }
        }
    }
}
