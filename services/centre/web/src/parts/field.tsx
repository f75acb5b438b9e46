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

/** Durations that are offered while one is typed. */
const DURATIONS = ["15m", "30m", "1h", "3h", "8h", "1d"];

/** A length of time as the engine reads it, such as `1h30m`. */
export function DurationField({ label, hint, value, required, onInput }: { label: string; hint?: string; value: string; required?: boolean; onInput: (value: string) => void }) {
    const list = useId();
    return (
        <Field label={label} {...(hint ? { hint } : {})}>
            {(id) => (
                <>
                    <input
                        id={id}
                        list={list}
                        value={value}
                        required={required}
                        autocomplete="off"
                        pattern="(\d+(ms|s|m|h|d))+"
                        onInput={(event) => onInput(event.currentTarget.value.trim())}
                    />
                    <datalist id={list}>
                        {DURATIONS.map((one) => (
                            <option key={one} value={one} />
                        ))}
                    </datalist>
                </>
            )}
        </Field>
    );
}
