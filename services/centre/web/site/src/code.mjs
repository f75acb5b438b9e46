// Colours of code, by the grammars with which the workbench of the control centre colours: classes, and no styles.

import { StreamLanguage } from "@codemirror/language";
import { javascript, typescript } from "@codemirror/legacy-modes/mode/javascript";
import { python } from "@codemirror/legacy-modes/mode/python";
import { rust } from "@codemirror/legacy-modes/mode/rust";
import { shell } from "@codemirror/legacy-modes/mode/shell";
import { pgSQL } from "@codemirror/legacy-modes/mode/sql";
import { toml } from "@codemirror/legacy-modes/mode/toml";
import { xml } from "@codemirror/legacy-modes/mode/xml";
import { classHighlighter, highlightCode } from "@lezer/highlight";
import { parser as yaml } from "@lezer/yaml";

const stream = (mode) => StreamLanguage.define(mode).parser;
const [scripts, types, shells] = [javascript, typescript, shell].map(stream);

/** Grammars by the word behind a fence, or by the ending of a file. JSON is YAML, too. */
const GRAMMARS = {
    yaml, yml: yaml, json: yaml,
    sh: shells, js: scripts, mjs: scripts, ts: types,
    python: stream(python), py: stream(python), rust: stream(rust), rs: stream(rust), sql: stream(pgSQL), toml: stream(toml), xml: stream(xml),
};

/** Characters from which on a file is shown without colours: a page of it would be many times as long. */
const LONG = 40_000;

export function escaped(text) {
    return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;").replaceAll('"', "&quot;");
}

/** Code as HTML. */
export function coloured(text, language) {
    if (language === "console") return session(text);
    const grammar = GRAMMARS[language];
    if (!grammar || text.length > LONG) return escaped(text);
    const parts = [];
    const put = (code, classes) => parts.push(classes ? `<span class="${classes}">${escaped(code)}</span>` : escaped(code));
    highlightCode(text, grammar.parse(text), classHighlighter, put, () => parts.push("\n"));
    return parts.join("");
}

/** A session at a terminal: what is typed stands behind `$`, the rest is answered. */
function session(text) {
    let typed = false;
    const lines = text.split("\n").map((line) => {
        typed = line.startsWith("$ ") || (typed && line.startsWith("> "));
        if (!typed) return line && `<span class="out">${escaped(line)}</span>`;
        return `<span class="prompt">${escaped(line.slice(0, 2))}</span><span class="typed">${escaped(line.slice(2))}</span>`;
    });
    return lines.join("\n");
}
