// Values of a YAML text, as scenarios are written in: what the engine's own reader makes of mappings, lists and scalars.

import { parser } from "@lezer/yaml";

type Tree = ReturnType<typeof parser.parse>;
type Node = Tree["topNode"];

/** A text that is no YAML, or that has what scenarios do not. */
export class YamlFault extends Error {}

/** The value of a text's first document. Throws a `YamlFault`. */
export function yamlValue(text: string): unknown {
    const tree = parser.parse(text);
    const document = tree.topNode.getChild("Document");
    return document ? new Reader(text).contentOf(document) : null;
}

const CONTENT = new Set([
    "Literal",
    "QuotedLiteral",
    "BlockLiteral",
    "FlowMapping",
    "BlockMapping",
    "FlowSequence",
    "BlockSequence",
    "Anchored",
    "Tagged",
    "Alias",
]);

function childrenOf(node: Node): Node[] {
    const children: Node[] = [];
    for (let child = node.firstChild; child; child = child.nextSibling) children.push(child);
    return children;
}

class Reader {
    private readonly anchors = new Map<string, unknown>();

    constructor(private readonly text: string) {}

    private of(node: Node): string {
        return this.text.slice(node.from, node.to);
    }

    /** The value that stands in a node; null where it has none. */
    contentOf(node: Node): unknown {
        const children = childrenOf(node);
        if (children.some((child) => child.type.isError)) throw new YamlFault(this.of(node).slice(0, 40));
        const content = children.find((child) => CONTENT.has(child.name));
        return content ? this.valueOf(content) : null;
    }

    private valueOf(node: Node): unknown {
        switch (node.name) {
            case "Literal":
                return plain(folded(this.of(node)));
            case "QuotedLiteral":
                return quoted(this.of(node));
            case "BlockLiteral":
                return this.block(node);
            case "FlowMapping":
            case "BlockMapping":
                return Object.fromEntries(node.getChildren("Pair").map((pair) => this.pair(pair)));
            case "FlowSequence":
            case "BlockSequence":
                return node.getChildren("Item").map((item) => this.contentOf(item));
            default:
                return this.marked(node);
        }
    }

    private pair(pair: Node): [string, unknown] {
        const key = pair.getChild("Key");
        const name = key ? this.contentOf(key) : null;
        return [typeof name === "string" ? name : JSON.stringify(name), this.contentOf(pair)];
    }

    /** A value with a name or a type before it, or the name of an earlier one. */
    private marked(node: Node): unknown {
        if (node.name === "Alias") return this.anchors.get(this.of(node).slice(1)) ?? null;
        const value = this.contentOf(node);
        const anchor = node.getChild("Anchor");
        if (anchor) this.anchors.set(this.of(anchor).slice(1), value);
        const literal = node.getChild("Literal");
        const tag = node.getChild("Tag");
        return literal && tag && this.of(tag) === "!!str" ? folded(this.of(literal)) : value;
    }

    private block(node: Node): string {
        const header = node.getChild("BlockLiteralHeader");
        const content = node.getChild("BlockLiteralContent");
        const sign = header ? this.of(header) : "|";
        const lines = content ? this.of(content).split("\n") : [];
        const indent = Math.min(...lines.filter((line) => line.trim() !== "").map((line) => line.length - line.trimStart().length));
        const cut = lines.map((line) => line.slice(Number.isFinite(indent) ? indent : 0));
        const body = sign.startsWith(">") ? cut.join("\n").replace(/([^\n])\n(?=[^\n\s])/g, "$1 ") : cut.join("\n");
        if (sign.includes("-")) return body.replace(/\n+$/, "");
        return sign.includes("+") ? body : `${body.replace(/\n+$/, "")}\n`;
    }
}

/** Lines of a scalar as one: a line's end is a space, an empty line is a line's end. */
function folded(text: string): string {
    return text.replace(/[ \t]*\n[ \t]*((?:\n[ \t]*)*)/g, (_, more: string) => (more === "" ? " " : "\n".repeat(more.split("\n").length - 1)));
}

/** A scalar without quotes, by the core schema. */
function plain(text: string): unknown {
    if (/^(null|Null|NULL|~|)$/.test(text)) return null;
    if (/^(true|True|TRUE)$/.test(text)) return true;
    if (/^(false|False|FALSE)$/.test(text)) return false;
    if (/^0x[0-9a-fA-F]+$|^0o[0-7]+$/.test(text)) return Number(text);
    return /^[-+]?(\.\d+|\d+(\.\d*)?)([eE][-+]?\d+)?$/.test(text) ? Number(text) : text;
}

const ESCAPES: Record<string, string> = {
    n: "\n",
    t: "\t",
    r: "\r",
    "0": "\0",
    b: "\b",
    e: "\u001b",
    a: "\u0007",
    f: "\f",
    v: "\v",
    N: "\u0085",
    _: "\u00a0",
};

function quoted(text: string): string {
    const inner = text.slice(1, -1);
    if (text.startsWith("'")) return folded(inner).replaceAll("''", "'");
    const joined = inner.replace(/\\\n[ \t]*/g, "");
    return folded(joined).replace(/\\(x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|.)/g, (_, code: string) => {
        if (/^[xuU]./.test(code)) return String.fromCodePoint(Number.parseInt(code.slice(1), 16));
        return ESCAPES[code] ?? code;
    });
}
