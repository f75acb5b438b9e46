import type { ComponentChildren } from "preact";
import { useId } from "preact/hooks";

/** An input with its label, a hint, and what is wrong with it. */
export function Field({
    label,
    hint,
    error,
    children,
}: {
    label: string;
    hint?: string;
    error?: string | undefined;
    children: (id: string) => ComponentChildren;
}) {
    const id = useId();
    return (
        <div class={error ? "field wrong" : "field"}>
            <label for={id}>{label}</label>
            {children(id)}
            {error && (
                <span class="field-error" role="alert">
                    {error}
                </span>
            )}
            {hint && <span class="hint">{hint}</span>}
        </div>
    );
}

/** A choice among words. */
export function Select<W extends string>({
    label,
    value,
    options,
    onChange,
}: {
    label: string;
    value: W;
    options: readonly { value: W; text: string }[];
    onChange: (value: W) => void;
}) {
    const id = useId();
    return (
        <span class="select">
            <label for={id}>{label}</label>
            <select id={id} value={value} onChange={(event) => onChange(event.currentTarget.value as W)}>
                {options.map((option) => (
                    <option key={option.value} value={option.value}>
                        {option.text}
                    </option>
                ))}
            </select>
        </span>
    );
}
