// The editor itself, by CodeMirror. It stands in a shadow root, where its style sheets are adopted ones: those that it would
// write into the page are kept out by the content security policy.

import { autocompletion, completionKeymap, type CompletionContext, type CompletionResult } from "@codemirror/autocomplete";
import { defaultKeymap, history, historyKeymap, indentWithTab } from "@codemirror/commands";
import { yaml } from "@codemirror/lang-yaml";
import { bracketMatching, foldGutter, foldKeymap, HighlightStyle, indentOnInput, indentService, indentUnit, syntaxHighlighting } from "@codemirror/language";
import { lintGutter, lintKeymap, setDiagnostics, type Diagnostic } from "@codemirror/lint";
import { highlightSelectionMatches, search, searchKeymap } from "@codemirror/search";
import { EditorState, type Text } from "@codemirror/state";
import { drawSelection, EditorView, highlightActiveLine, highlightActiveLineGutter, keymap, lineNumbers } from "@codemirror/view";
import { tags } from "@lezer/highlight";
import type { Completions, EditorHandle, EditorSettings, Place, Remark } from "./editor";

const LOOK = EditorView.theme({
    "&": { color: "var(--text)", backgroundColor: "var(--surface)", height: "100%", fontSize: "13px" },
    "&.cm-focused": { outline: "none" },
    ".cm-scroller": { fontFamily: "var(--mono)", lineHeight: "1.55" },
    ".cm-content": { caretColor: "var(--accent)" },
    ".cm-cursor": { borderLeftColor: "var(--accent)", borderLeftWidth: "2px" },
    ".cm-gutters": { backgroundColor: "var(--surface)", color: "var(--text-faint)", border: "none", borderRight: "1px solid var(--line)" },
    ".cm-activeLine": { backgroundColor: "color-mix(in srgb, var(--accent-ground) 45%, transparent)" },
    ".cm-activeLineGutter": { backgroundColor: "var(--accent-ground)", color: "var(--text)" },
    "&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, .cm-selectionBackground": { backgroundColor: "color-mix(in srgb, var(--accent) 28%, transparent)" },
    ".cm-selectionMatch": { backgroundColor: "var(--wait-ground)" },
    ".cm-foldPlaceholder": { backgroundColor: "var(--surface-2)", color: "var(--text-soft)", border: "1px solid var(--line)" },
    ".cm-tooltip": { color: "var(--text)", backgroundColor: "var(--surface)", border: "1px solid var(--line-strong)", borderRadius: "6px", boxShadow: "var(--shadow)" },
    ".cm-tooltip-autocomplete > ul > li[aria-selected]": { backgroundColor: "var(--accent-ground)", color: "var(--accent-strong)" },
    ".cm-completionDetail": { color: "var(--text-faint)", fontStyle: "normal" },
    ".cm-panels": { color: "var(--text)", backgroundColor: "var(--surface-2)", borderColor: "var(--line)" },
    ".cm-panel.cm-search label": { color: "var(--text)" },
    ".cm-textfield": { color: "var(--text)", backgroundColor: "var(--surface)", border: "1px solid var(--line-strong)" },
    ".cm-button": { color: "var(--text)", backgroundColor: "var(--surface)", backgroundImage: "none", border: "1px solid var(--line-strong)" },
    ".cm-searchMatch": { backgroundColor: "var(--wait-ground)", outline: "1px solid var(--wait)" },
    ".cm-diagnostic-error": { borderLeftColor: "var(--bad)" },
    ".cm-diagnostic-warning": { borderLeftColor: "var(--warn)" },
    ".cm-lintRange-error": { backgroundImage: "none", textDecoration: "underline wavy var(--bad)", textUnderlineOffset: "3px" },
    ".cm-lintRange-warning": { backgroundImage: "none", textDecoration: "underline wavy var(--warn)", textUnderlineOffset: "3px" },
});

const COLOURS = HighlightStyle.define([
    { tag: tags.comment, color: "var(--text-faint)", fontStyle: "italic" },
    { tag: [tags.propertyName, tags.definition(tags.propertyName)], color: "var(--accent-strong)", fontWeight: "550" },
    { tag: tags.string, color: "var(--good)" },
    { tag: tags.special(tags.string), color: "var(--good)" },
    { tag: [tags.number, tags.bool, tags.null, tags.keyword], color: "var(--rest)" },
    { tag: [tags.separator, tags.punctuation, tags.squareBracket, tags.brace], color: "var(--text-faint)" },
]);

/** A new line stands below the last one: deeper where that one opens a mapping, and behind its dash where it is an item. */
const INDENT = indentService.of((context, at) => {
    if (context.simulatedBreak !== at) return undefined;
    const line = context.lineAt(at, -1).text;
    const dashes = /^\s*(?:- +)*/.exec(line)?.[0].length ?? 0;
    return /:\s*(?:[|>][+-]?)?\s*(?:#.*)?$/.test(line) ? dashes + context.unit : dashes;
});

/** Offset of a place; one beyond the end of its line, or of the text, is moved to that end. */
function offsetOf(text: Text, { line, column }: Place): number {
    const at = text.line(Math.min(Math.max(line, 1), text.lines));
    return at.from + Math.min(Math.max(column - 1, 0), at.length);
}

function placeOf(text: Text, offset: number): Place {
    const line = text.lineAt(offset);
    return { line: line.number, column: offset - line.from + 1 };
}

/** A remark underlines the word at its place, or the rest of the line where there is none. */
function diagnosticOf(text: Text, remark: Remark): Diagnostic {
    const from = offsetOf(text, remark);
    const line = text.lineAt(from);
    const word = /^[^\s,:{}[\]]+/.exec(text.sliceString(from, line.to))?.[0].length;
    return { from, to: word ? from + word : line.to, severity: remark.severity, message: remark.message };
}

async function completed(context: CompletionContext, ask: EditorSettings["complete"]): Promise<CompletionResult | null> {
    if (!context.explicit && !context.matchBefore(/[\w${.:-]/)) return null;
    const text = context.state.doc;
    const found: Completions | undefined = await ask(text.toString(), placeOf(text, context.pos));
    if (!found || context.aborted) return null;
    const options = found.items.map((item) => ({
        label: item.label,
        apply: item.insert,
        ...(item.detail ? { detail: item.detail } : {}),
        ...(item.kind ? { type: item.kind } : {}),
    }));
    return { from: Math.min(offsetOf(text, found.from), context.pos), options, validFor: /^[\w.:-]*$/ };
}

function writing(settings: EditorSettings) {
    return [
        history(),
        indentOnInput(),
        INDENT,
        EditorView.domEventHandlers({ beforeinput: typeOver }),
        autocompletion({ override: [(context) => completed(context, settings.complete)], icons: false }),
        lintGutter(),
        keymap.of([{ key: "Mod-Enter", run: () => (settings.onRun(), true) }, ...completionKeymap, ...historyKeymap, ...lintKeymap, indentWithTab]),
        EditorView.updateListener.of((update) => {
            if (update.docChanged) settings.onChange(update.state.doc.toString());
        }),
    ];
}

/**
 * Types over a selection. Left to itself, a browser that empties a line keeps the look of what stood there by an inline style,
 * which the content security policy forbids.
 */
function typeOver(event: InputEvent, view: EditorView): boolean {
    if (event.inputType !== "insertText" || !event.data || view.composing || view.state.selection.ranges.every((range) => range.empty)) return false;
    view.dispatch(view.state.replaceSelection(event.data), { userEvent: "input.type", scrollIntoView: true });
    return true;
}

/** Opens an editor in an element. */
export function openEditor(host: HTMLElement, settings: EditorSettings): EditorHandle {
    const root = host.shadowRoot ?? host.attachShadow({ mode: "open" });
    const view = new EditorView({
        root,
        parent: root,
        state: EditorState.create({
            doc: settings.value,
            extensions: [
                settings.readOnly ? [EditorState.readOnly.of(true)] : writing(settings),
                lineNumbers(),
                foldGutter(),
                drawSelection(),
                bracketMatching(),
                highlightActiveLine(),
                highlightActiveLineGutter(),
                highlightSelectionMatches(),
                search({ top: true }),
                indentUnit.of("  "),
                yaml(),
                syntaxHighlighting(COLOURS),
                LOOK,
                keymap.of([...searchKeymap, ...foldKeymap, ...defaultKeymap]),
                EditorView.contentAttributes.of({ "aria-label": settings.label, spellcheck: "false", tabindex: "0" }),
            ],
        }),
    });
    return {
        jump(to) {
            const at = offsetOf(view.state.doc, to);
            view.dispatch({ selection: { anchor: at }, effects: EditorView.scrollIntoView(at, { y: "center" }) });
            view.focus();
        },
        replace(value) {
            if (value === view.state.doc.toString()) return;
            view.dispatch({ changes: { from: 0, to: view.state.doc.length, insert: value } });
        },
        remark(remarks) {
            view.dispatch(setDiagnostics(view.state, remarks.map((one) => diagnosticOf(view.state.doc, one))));
        },
        close: () => view.destroy(),
    };
}
