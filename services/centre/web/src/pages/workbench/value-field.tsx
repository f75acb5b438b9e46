// A value that people write as YAML or JSON. What is not read yet stays as it was typed, and says so.

import { useEffect, useRef, useState } from "preact/hooks";
import { Field } from "../../parts/field";
import { workbench as text } from "../../text/workbench";
import { block } from "./yaml";

type Form = "mapping" | "list" | "any";

interface Props {
    label: string;
    value: unknown;
    form: Form;
    hint?: string;
    rows?: number;
    onChange: (value: unknown) => void;
}

const WRONG = { mapping: "not_json", list: "not_list", any: "not_yaml" } as const;

const written = (value: unknown) => (value === undefined ? "" : block(value, 0).join("\n"));

function fits(value: unknown, form: Form): boolean {
    if (form === "any" || value === undefined) return true;
    return form === "list" ? Array.isArray(value) : typeof value === "object" && value !== null && !Array.isArray(value);
}

export function ValueField({ label, value, form, hint, rows = 2, onChange }: Props) {
    const [typed, setTyped] = useState(() => written(value));
    const [wrong, setWrong] = useState(false);
    const given = useRef(JSON.stringify(value));
    useEffect(() => {
        // A value from elsewhere takes the place of the text; one that came from here leaves it as it was typed.
        if (JSON.stringify(value) === given.current) return;
        given.current = JSON.stringify(value);
        setTyped(written(value));
        setWrong(false);
    }, [value]);
    const take = async (next: string) => {
        setTyped(next);
        const { isYaml, readYaml } = await import("./yaml-reader");
        const found = next.trim() === "" ? undefined : readYaml(next);
        const good = isYaml(next) && fits(found, form);
        setWrong(!good);
        if (!good) return;
        given.current = JSON.stringify(found);
        onChange(found);
    };
    return (
        <Field label={label} {...(hint ? { hint } : {})} error={wrong ? text(WRONG[form]) : undefined}>
            {(id) => <textarea id={id} rows={Math.min(Math.max(rows, typed.split("\n").length), 14)} value={typed} spellcheck={false} onInput={(event) => void take(event.currentTarget.value)} />}
        </Field>
    );
}
