import { useEffect, useState } from "preact/hooks";
import { setQuery } from "../../app/router";
import { Button } from "../../parts/button";
import { Field } from "../../parts/field";
import { text } from "../../text/audit";
import { CONDITIONS, DOORS, KINDS, type Condition, type Conditions } from "./entry";

const CHOICES: Partial<Record<Condition, readonly string[]>> = { kind: KINDS, door: DOORS };

/** Conditions of the list; they stand in the address once they are applied. */
export function Filter({ conditions }: { conditions: Conditions }) {
    const [typed, setTyped] = useState(conditions);
    const at = JSON.stringify(conditions);
    useEffect(() => setTyped(conditions), [at]);
    const apply = (values: Conditions) => setQuery({ ...values, cursor: undefined, entry: undefined });
    const set = (name: Condition, value: string) => {
        const values = { ...typed, [name]: value };
        setTyped(values);
        if (CHOICES[name]) apply(values);
    };
    const none = Object.fromEntries(CONDITIONS.map((name) => [name, ""])) as Conditions;
    return (
        <form
            class="filter"
            role="search"
            aria-label={text("filter")}
            onSubmit={(event) => {
                event.preventDefault();
                apply(typed);
            }}
        >
            {CONDITIONS.map((name) => (
                <Field key={name} label={text(name)}>
                    {(id) => <Input id={id} name={name} value={typed[name]} onChange={(value) => set(name, value)} />}
                </Field>
            ))}
            <div class="row">
                <Button type="submit">{text("apply")}</Button>
                {CONDITIONS.some((name) => conditions[name] !== "") && (
                    <Button kind="quiet" onClick={() => apply(none)}>
                        {text("reset")}
                    </Button>
                )}
            </div>
        </form>
    );
}

interface InputProps {
    id: string;
    name: Condition;
    value: string;
    onChange: (value: string) => void;
}

function Input({ id, name, value, onChange }: InputProps) {
    const words = CHOICES[name];
    if (!words) {
        const placeholder = name === "since" || name === "until" ? text("since_hint") : undefined;
        return <input id={id} name={name} value={value} placeholder={placeholder} autocomplete="off" onInput={(event) => onChange(event.currentTarget.value)} />;
    }
    return (
        <select id={id} name={name} value={value} onChange={(event) => onChange(event.currentTarget.value)}>
            <option value="">{text("any")}</option>
            {words.map((word) => (
                <option key={word} value={word}>
                    {word}
                </option>
            ))}
        </select>
    );
}
