// The query bar: one line of conditions with completion. The address has what is searched for; the bar is where it is typed.

import { useEffect, useId, useRef, useState } from "preact/hooks";
import { announce } from "../../app/announce";
import { orders as text } from "../../text/orders";
import { Button } from "../../parts/button";
import { Icon } from "../../parts/icon";
import { paramsAt, suggestions, sourceAt, taken, type Suggestion } from "./complete";
import { known, want, wantParams } from "./known";
import { faultsOf, mended, parsed, textOf, type Fault } from "./words";
import { queryOf, type Selection } from "./selection";

interface Props {
    selection: Selection;
    onSearch: (selection: Selection) => void;
}

export function QueryBar({ selection, onSearch }: Props) {
    const asText = textOf(selection);
    const [typed, setTyped] = useState(asText);
    const [faults, setFaults] = useState<Fault[]>(() => faultsOf(selection));
    const at = queryOf(selection);
    useEffect(() => {
        setTyped(asText);
        setFaults(faultsOf(selection));
    }, [at]);
    const search = (wanted: string) => {
        const found = parsed(wanted);
        setTyped(wanted);
        setFaults(found.faults);
        if (found.faults.length > 0) return;
        onSearch(found.selection);
    };
    return (
        <form
            role="search"
            class="query-bar"
            onSubmit={(event) => {
                event.preventDefault();
                search(typed);
            }}
        >
            <Input
                typed={typed}
                wrong={faults.length > 0}
                onType={(wanted) => {
                    setTyped(wanted);
                    if (faults.length > 0) setFaults([]);
                }}
                onClear={() => {
                    search("");
                    announce(text("cleared"));
                }}
            />
            {faults.length > 0 && <Faults faults={faults} typed={typed} onTake={search} onType={setTyped} />}
        </form>
    );
}

interface InputProps {
    typed: string;
    wrong: boolean;
    onType: (typed: string) => void;
    onClear: () => void;
}

function Input({ typed, wrong, onType, onClear }: InputProps) {
    const id = useId();
    const input = useRef<HTMLInputElement>(null);
    const completion = useCompletion(input, typed, onType);
    const { options, chosen, isOpen } = completion;
    return (
        <div class="query-line">
            <Icon name="search" />
            <input
                ref={input}
                role="combobox"
                aria-expanded={isOpen}
                aria-controls={`${id}-list`}
                aria-autocomplete="list"
                aria-activedescendant={isOpen && chosen >= 0 ? `${id}-${chosen}` : undefined}
                aria-label={text("bar_label")}
                aria-describedby={`${id}-hint`}
                aria-invalid={wrong}
                autocomplete="off"
                autocapitalize="off"
                spellcheck={false}
                placeholder={text("bar_placeholder")}
                value={typed}
                onInput={(event) => {
                    onType(event.currentTarget.value);
                    completion.look();
                }}
                onFocus={completion.look}
                onClick={completion.look}
                onBlur={completion.close}
                onKeyDown={completion.onKeyDown}
            />
            {typed !== "" && (
                <Button kind="quiet" small label={text("bar_clear")} onClick={onClear}>
                    ×
                </Button>
            )}
            <span id={`${id}-hint`} class="hidden-text">
                {text("bar_hint")}
            </span>
            <Suggestions id={id} options={isOpen ? options : []} chosen={chosen} onTake={completion.take} />
        </div>
    );
}

/** State of the list below the bar: what it offers at the caret, and which of that is chosen. */
function useCompletion(input: { readonly current: HTMLInputElement | null }, typed: string, onType: (typed: string) => void) {
    const [caret, setCaret] = useState<number>();
    const [chosen, setChosen] = useState(-1);
    const source = caret === undefined ? undefined : sourceAt(typed, caret);
    useEffect(() => {
        if (source) void want(source);
    }, [source]);
    const scenario = caret === undefined ? undefined : paramsAt(typed, caret);
    useEffect(() => {
        if (scenario) void wantParams(scenario);
    }, [scenario]);
    const options = caret === undefined ? [] : suggestions(typed, caret, known.value);
    const look = () => {
        setCaret(input.current?.selectionStart ?? typed.length);
        setChosen(-1);
    };
    const close = () => setCaret(undefined);
    const take = (one: Suggestion) => {
        const made = taken(typed, one);
        onType(made.text);
        const element = input.current;
        if (element) {
            // The caret is set once the new text stands in the input.
            element.value = made.text;
            element.focus();
            element.setSelectionRange(made.caret, made.caret);
        }
        setCaret(one.isWhole && !made.text.slice(0, made.caret).endsWith(" ") ? undefined : made.caret);
        setChosen(-1);
    };
    const onKeyDown = (event: KeyboardEvent) => {
        const step = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : 0;
        const one = options[chosen];
        if (step !== 0) {
            event.preventDefault();
            if (caret === undefined) look();
            else if (options.length > 0) setChosen(step > 0 ? (chosen + 1) % options.length : chosen <= 0 ? options.length - 1 : chosen - 1);
        } else if (one && (event.key === "Enter" || event.key === "Tab")) {
            event.preventDefault();
            take(one);
        } else if (event.key === "Escape" && caret !== undefined && options.length > 0) {
            event.preventDefault();
            close();
        } else if (event.key === "Enter") close();
        else if (["ArrowLeft", "ArrowRight", "Home", "End"].includes(event.key)) window.setTimeout(look);
    };
    return { options, chosen, isOpen: options.length > 0, look, close, take, onKeyDown };
}

interface SuggestionsProps {
    id: string;
    options: readonly Suggestion[];
    chosen: number;
    onTake: (one: Suggestion) => void;
}

function Suggestions({ id, options, chosen, onTake }: SuggestionsProps) {
    const list = useRef<HTMLUListElement>(null);
    useEffect(() => {
        list.current?.children[chosen]?.scrollIntoView({ block: "nearest" });
    }, [chosen]);
    return (
        <>
            <ul id={`${id}-list`} role="listbox" class="query-options" aria-label={text("suggestions")} hidden={options.length === 0} ref={list}>
                {options.map((one, index) => (
                    <li
                        key={one.insert}
                        id={`${id}-${index}`}
                        role="option"
                        aria-selected={index === chosen}
                        // The input keeps the focus: a list that took it would close before the click.
                        onMouseDown={(event) => event.preventDefault()}
                        onClick={() => onTake(one)}
                    >
                        <code>{one.shown}</code>
                        {!one.isWhole || one.shown.includes(":") ? <span class="faint">{text(`condition_${one.name}`)}</span> : null}
                    </li>
                ))}
            </ul>
            <span class="hidden-text" aria-live="polite">
                {options.length > 0 ? text("option_count", { n: options.length }) : ""}
            </span>
        </>
    );
}

interface FaultsProps {
    faults: readonly Fault[];
    typed: string;
    /** Searches with a text. */
    onTake: (typed: string) => void;
    /** Writes a text without searching: it lacks something yet. */
    onType: (typed: string) => void;
}

function Faults({ faults, typed, onTake, onType }: FaultsProps) {
    return (
        <div class="problem" role="alert">
            {faults.map((fault, index) => (
                <p key={index} class="row">
                    <span>{text(`fault_${fault.kind}`, { name: fault.name, value: fault.value })}</span>
                    {fault.instead && fault.instead.length > 0 && (
                        <>
                            <span>{text("instead")}</span>
                            {fault.instead.map((instead) => (
                                <Button key={instead} small onClick={() => (instead.endsWith(":") ? onType : onTake)(mended(typed, fault, instead))}>
                                    <code>{instead}</code>
                                </Button>
                            ))}
                        </>
                    )}
                </p>
            ))}
        </div>
    );
}
