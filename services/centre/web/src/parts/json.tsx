import { useState } from "preact/hooks";
import { common } from "../text/common";
import { Button } from "./button";
import { CopyButton } from "./copy";

/** Lines that are shown of a long text before somebody asks for all of it: a page costs what it shows. */
const SHOWN = 40;

/** A value as JSON, or a text as it is. */
export function Json({ value }: { value: unknown }) {
    const [whole, setWhole] = useState(false);
    const text = typeof value === "string" ? value : JSON.stringify(value, null, 2);
    const lines = text.split("\n");
    const cut = !whole && lines.length > SHOWN;
    return (
        <div class="json">
            <pre tabIndex={0}>{cut ? lines.slice(0, SHOWN).join("\n") : text}</pre>
            <div class="tools">
                {lines.length > SHOWN && (
                    <Button small kind="quiet" onClick={() => setWhole(!whole)}>
                        {common(whole ? "show_less" : "show_more")}
                    </Button>
                )}
                <CopyButton text={text} />
            </div>
        </div>
    );
}
