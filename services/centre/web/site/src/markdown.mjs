// Markdown to HTML. Links lead to pages of the site; what they lead to is noted, and every fault with its line.

import MarkdownIt from "markdown-it";
import { coloured, escaped } from "./code.mjs";
import { resolved } from "./repository.mjs";

/** The anchor that readers of the repository see, too: its host makes the same from a heading. */
export function anchorOf(text, taken) {
    const plain = text.toLowerCase().replaceAll(/[^\p{L}\p{N}\p{M}\s_-]/gu, "").trim().replaceAll(/\s/g, "-");
    const count = taken.get(plain) ?? 0;
    taken.set(plain, count + 1);
    return count === 0 ? plain : `${plain}-${count}`;
}

/** The words of an inline token without their form. */
function wordsOf(inline) {
    return (inline.children ?? []).map((part) => (part.type === "softbreak" ? " " : part.type === "image" ? "" : part.content)).join("");
}

const markdown = new MarkdownIt({ html: true, linkify: false });
const { rules } = markdown.renderer;

rules.fence = (tokens, index) => {
    const { content, info } = tokens[index];
    const language = info.trim().split(/\s/)[0] ?? "";
    const kind = language === "console" ? ' data-session=""' : "";
    return `<div class="code"><pre${kind}><code>${coloured(content.replace(/\n$/, ""), language)}</code></pre></div>\n`;
};
rules.code_block = (tokens, index) => `<div class="code"><pre><code>${escaped(tokens[index].content)}</code></pre></div>\n`;
rules.table_open = () => '<div class="table-frame"><table>\n';
rules.table_close = () => "</table></div>\n";
rules.heading_close = (tokens, index) => {
    const { tag, meta } = tokens[index];
    const link = meta?.anchor ? ` <a class="anchor" href="#${meta.anchor}" aria-label="Link to: ${escaped(meta.text)}">#</a>` : "";
    return `${link}</${tag}>\n`;
};
// Comments are for writers; other HTML is refused below.
rules.html_block = () => "";
rules.html_inline = () => "";

/**
 * Renders a page. `site` gives addresses: `page(path)` and `picture(path)` of what is in the checkout. The answer has the HTML,
 * the headings, the sections for the search, the links to other pages with their anchors, and faults.
 */
export function rendered(path, text, site) {
    const found = { html: "", title: "", headings: [], sections: [], links: [], faults: [] };
    const tokens = markdown.parse(text, {});
    const page = { path, site, found, taken: new Map(), line: 1 };
    tokens.forEach((token, index) => {
        if (token.map) page.line = token.map[0] + 1;
        if (token.type === "html_block") refuseHtml(page, token.content);
        if (token.type === "fence" && token.info.trim() === "mermaid") {
            fault(page, "a diagram has to be a picture: the policy of the pages lets nothing draw it");
        }
        if (token.type === "heading_open") heading(page, token, tokens[index + 1], tokens[index + 2]);
        else if (token.type === "inline" && tokens[index - 1]?.type !== "heading_open") section(page).text.push(wordsOf(token));
        if (token.type === "inline") for (const part of token.children ?? []) inline(page, part);
    });
    if (!found.title) fault(page, "a page needs a title: a line that starts with `# `");
    found.html = markdown.renderer.render(tokens, markdown.options, {});
    return found;
}

function fault(page, message) {
    page.found.faults.push(`${page.path}:${page.line}: ${message}`);
}

/** The section that is read now. */
function section(page) {
    const { sections } = page.found;
    if (sections.length === 0) sections.push({ anchor: "", heading: "", text: [] });
    return sections.at(-1);
}

function heading(page, open, content, close) {
    const [level, text] = [Number(open.tag.slice(1)), wordsOf(content)];
    const anchor = anchorOf(text, page.taken);
    open.attrSet("id", anchor);
    const isTitle = level === 1 && page.found.title === "";
    if (isTitle) page.found.title = text;
    else close.meta = { anchor, text };
    page.found.headings.push({ level, text, anchor });
    page.found.sections.push({ anchor: isTitle ? "" : anchor, heading: isTitle ? "" : text, text: [] });
}

function inline(page, part) {
    if (part.type === "html_inline") refuseHtml(page, part.content);
    if (part.type === "link_open") part.attrSet("href", link(page, part.attrGet("href")));
    if (part.type === "image") picture(page, part);
}

function refuseHtml(page, html) {
    if (!/^\s*<!--[^]*-->\s*$/.test(html)) fault(page, `only Markdown is shown, and no HTML: ${html.trim().slice(0, 60)}`);
}

function link(page, href) {
    if (/^[a-z]+:/i.test(href)) return href;
    const [target, anchor] = href.split("#");
    const path = target === "" ? page.path : resolved(page.path, decodeURI(target));
    const address = path && page.site.page(path);
    if (!address) {
        fault(page, `the link \`${href}\` leads to no file of the repository`);
        return href;
    }
    if (anchor !== undefined) page.found.links.push({ path, anchor: decodeURIComponent(anchor), href, line: page.line });
    return anchor === undefined ? address : `${target === "" ? "" : address}#${anchor}`;
}

function picture(page, part) {
    const source = part.attrGet("src");
    const path = /^[a-z]+:/i.test(source) ? undefined : resolved(page.path, source);
    const address = path && page.site.picture(path);
    if (!address) return fault(page, `the picture \`${source}\` is no file of the repository`);
    if (!wordsOf(part).trim() && !part.content.trim()) fault(page, `the picture \`${source}\` has no text for those who do not see it`);
    part.attrSet("src", address);
    part.attrSet("loading", "lazy");
}
