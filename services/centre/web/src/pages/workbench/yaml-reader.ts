// Reads YAML by the grammar of the editor, so that it is loaded with the editor's module and not once more. What the engine
// refuses, such as aliases, is read as a text: the server's check says what is wrong with it.

import { yamlLanguage } from "@codemirror/lang-yaml";
import type { SyntaxNode } from "@lezer/common";

/** Value of a text; nothing where it holds none. */
export function readYaml(text: string): unknown {
    const document = yamlLanguage.parser.parse(text).topNode.getChild("Document");
    const content = document && children(document).find((node) => node.name !== "DirectiveEnd" && node.name !== "DocEnd");
    return content ? valueOf(content, text) : undefined;
}

/** Whether a text is YAML from its beginning to its end. */
export function isYaml(text: string): boolean {
    let whole = true;
    yamlLanguage.parser.parse(text).iterate({
        enter: (node) => {
            if (node.type.isError) whole = false;
        },
    });
    return whole;
}

function children(node: SyntaxNode): SyntaxNode[] {
    const found: SyntaxNode[] = [];
    for (let child = node.firstChild; child; child = child.nextSibling) if (child.name !== "Comment") found.push(child);
    return found;
}

const SIGNS = new Set(["-", ":", "?", ",", "[", "]", "{", "}", "Key", "Tag", "Anchor", "⚠"]);

const contentOf = (node: SyntaxNode) => children(node).find((child) => !SIGNS.has(child.name));

function valueOf(node: SyntaxNode, text: string): unknown {
    const source = text.slice(node.from, node.to);
    switch (node.name) {
        case "BlockMapping":
        case "FlowMapping":
            return Object.fromEntries(node.getChildren("Pair").map((pair) => pairOf(pair, text)));
        case "BlockSequence":
        case "FlowSequence":
            return node.getChildren("Item").map((item) => within(item, text));
        case "QuotedLiteral":
            return unquoted(source);
        case "BlockLiteral":
            return unfolded(source);
        case "Tagged":
        case "Anchored":
            return within(node, text);
        default:
            return plain(source);
    }
}

function within(node: SyntaxNode, text: string): unknown {
    const content = contentOf(node);
    return content ? valueOf(content, text) : null;
}

function pairOf(pair: SyntaxNode, text: string): [string, unknown] {
    const key = pair.getChild("Key");
    return [key ? String(within(key, text)) : "", within(pair, text)];
}

function plain(source: string): unknown {
    const text = source.replace(/\s*\n\s*/g, " ").trim();
    if (text === "" || text === "~" || text === "null") return null;
    if (text === "true" || text === "false") return text === "true";
    // A number that would lose its form, such as 007, stays a text.
    const number = Number(text);
    return /^-?\d/.test(text) && String(number) === text ? number : text;
}

function unquoted(source: string): string {
    const inner = source.slice(1, -1).replace(/[ \t]*\n[ \t]*/g, " ");
    if (source.startsWith("'")) return inner.replaceAll("''", "'");
    try {
        return JSON.parse(`"${inner}"`) as string;
    } catch {
        return inner;
    }
}

/** Text of a `|` or `>` block. */
function unfolded(source: string): string {
    const [head = "", ...rest] = source.split("\n");
    const indents = rest.filter((line) => line.trim() !== "").map((line) => line.length - line.trimStart().length);
    const indent = Math.min(...indents, ...(indents.length === 0 ? [0] : []));
    const lines = rest.map((line) => line.slice(indent));
    const joined = head.startsWith(">") ? lines.join("\n").replace(/([^\n])\n(?=[^\n ])/g, "$1 ") : lines.join("\n");
    const ended = joined.replace(/\n+$/, "");
    return head.includes("-") ? ended : `${ended}\n`;
}
