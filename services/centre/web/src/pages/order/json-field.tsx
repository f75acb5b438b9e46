import { Field } from "../../parts/field";
import { orderAction } from "../../text/order-actions";
import { parsedText, type Parsed } from "./json-text";

/** What was typed as JSON, with its fault in words. */
export function parsedJson(typed: string, object = false): Parsed {
    const { value, error } = parsedText(typed, object);
    if (error === undefined) return { value };
    return { error: error === "object" ? orderAction("wrong_object") : orderAction("wrong_json", { reason: error }) };
}

interface Props {
    label: string;
    hint: string;
    text: string;
    object?: boolean;
    onChange: (text: string) => void;
}

/** A field for JSON, which says while one types whether it is. */
export function JsonField({ label, hint, text: typed, object = false, onChange }: Props) {
    return (
        <Field label={label} hint={hint} error={parsedJson(typed, object).error}>
            {(id) => <textarea id={id} rows={Math.min(12, Math.max(3, typed.split("\n").length))} spellcheck={false} value={typed} onInput={(event) => onChange(event.currentTarget.value)} />}
        </Field>
    );
}
