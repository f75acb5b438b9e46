// Inputs of the form: each with its label, its hint, and what is wrong with it.

import type { ComponentChildren } from "preact";
import { newOrder as text } from "../../text/new-order";
import { Button } from "../../parts/button";
import { Field } from "../../parts/field";

/** Messages by the JSON pointers of the fields that show them. */
export type Errors = ReadonlyMap<string, string>;

interface TextProps {
    label: string;
    value: string;
    onChange: (value: string) => void;
    hint?: string | undefined;
    error?: string | undefined;
    required?: boolean | undefined;
    mono?: boolean;
}

export function TextField({ label, value, onChange, hint, error, required, mono }: TextProps) {
    return (
        <Field label={required ? `${label} *` : label} error={error} {...(hint ? { hint } : {})}>
            {(id) => (
                <input
                    id={id}
                    class={mono ? "mono" : ""}
                    autocomplete="off"
                    spellcheck={false}
                    aria-required={required}
                    aria-invalid={error !== undefined}
                    value={value}
                    onInput={(event) => onChange(event.currentTarget.value)}
                />
            )}
        </Field>
    );
}

/** A time in the zone of the page. */
export function TimeField({ label, value, onChange, hint, error }: Omit<TextProps, "mono" | "required">) {
    return (
        <Field label={label} error={error} {...(hint ? { hint } : {})}>
            {(id) => (
                <input
                    id={id}
                    type="datetime-local"
                    step={1}
                    aria-invalid={error !== undefined}
                    value={value}
                    onInput={(event) => onChange(event.currentTarget.value)}
                />
            )}
        </Field>
    );
}

export function AreaField({ label, value, onChange, hint, error, required, rows }: Omit<TextProps, "mono"> & { rows: number }) {
    return (
        <Field label={required ? `${label} *` : label} error={error} {...(hint ? { hint } : {})}>
            {(id) => (
                <textarea
                    id={id}
                    rows={rows}
                    spellcheck={false}
                    aria-required={required}
                    aria-invalid={error !== undefined}
                    value={value}
                    onInput={(event) => onChange(event.currentTarget.value)}
                />
            )}
        </Field>
    );
}

interface ChoiceProps<W extends string> {
    label: string;
    value: W;
    options: readonly { readonly value: W; readonly text: string }[];
    onChange: (value: W) => void;
    hint?: string | undefined;
    error?: string | undefined;
    required?: boolean | undefined;
}

export function ChoiceField<W extends string>({ label, value, options, onChange, hint, error, required }: ChoiceProps<W>) {
    return (
        <Field label={required ? `${label} *` : label} error={error} {...(hint ? { hint } : {})}>
            {(id) => (
                <select
                    id={id}
                    value={value}
                    aria-required={required}
                    aria-invalid={error !== undefined}
                    onChange={(event) => onChange(event.currentTarget.value as W)}
                >
                    {options.map((option) => (
                        <option key={option.value} value={option.value}>
                            {option.text}
                        </option>
                    ))}
                </select>
            )}
        </Field>
    );
}

interface ListProps<R> {
    /** Name of the group. */
    name: string;
    /** The section around it has the name already. */
    nameIsShown?: boolean;
    rows: readonly R[];
    empty: R;
    add: string;
    /** What a row is called when it is removed. */
    nameOf: (row: R) => string;
    onChange: (rows: readonly R[]) => void;
    children: (row: R, change: (part: Partial<R>) => void, index: number) => ComponentChildren;
}

/** Rows that are added and removed. */
export function RowList<R>({ name, nameIsShown, rows, empty, add, nameOf, onChange, children }: ListProps<R>) {
    const change = (index: number, part: Partial<R>) => onChange(rows.map((row, at) => (at === index ? { ...row, ...part } : row)));
    return (
        <fieldset class="row-list">
            <legend class={nameIsShown ? "hidden-text" : ""}>{name}</legend>
            {rows.map((row, index) => (
                <div class="row-line" key={index}>
                    {children(row, (part) => change(index, part), index)}
                    <Button kind="quiet" label={text("remove", { name: nameOf(row) })} onClick={() => onChange(rows.filter((_, at) => at !== index))}>
                        ×
                    </Button>
                </div>
            ))}
            <Button small onClick={() => onChange([...rows, empty])}>
                {add}
            </Button>
        </fieldset>
    );
}

export function Section({ title, tools, children }: { title: string; tools?: ComponentChildren; children: ComponentChildren }) {
    return (
        <section class="panel" aria-label={title}>
            <header class="panel-head">
                <h2>{title}</h2>
                {tools && <div class="tools">{tools}</div>}
            </header>
            {children}
        </section>
    );
}
