// A field whose text stands in the address once it was typed.

import { useEffect, useRef, useState } from "preact/hooks";
import { query, setQuery } from "../../app/router";
import { common } from "../../text/common";
import { Field } from "../../parts/field";

/** Pause after the last key, in ms. */
const PAUSE = 250;

export function SearchByName({ name }: { name: string }) {
    const held = query.value.get(name) ?? "";
    const [typed, setTyped] = useState(held);
    const timer = useRef<number | undefined>(undefined);
    useEffect(() => setTyped(held), [held]);
    useEffect(() => () => window.clearTimeout(timer.current), []);
    const onInput = (value: string) => {
        setTyped(value);
        window.clearTimeout(timer.current);
        timer.current = window.setTimeout(() => setQuery({ [name]: value.trim(), cursor: undefined }, true), PAUSE);
    };
    return (
        <Field label={common("search")}>
            {(id) => <input id={id} type="search" value={typed} onInput={(event) => onInput(event.currentTarget.value)} />}
        </Field>
    );
}
