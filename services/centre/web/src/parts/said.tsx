import { to } from "../app/router";
import { Time } from "./moment";
import { partsOf } from "./said-parts";

/** A sentence of the engine, in its language. */
export function Said({ text }: { text: string }) {
    return (
        <span lang="en">
            {partsOf(text).map((part, index) => {
                if (part.kind === "time") return <Time key={index} at={part.text} />;
                if (part.kind === "order")
                    return (
                        <a key={index} href={to("orders", part.text)}>
                            {part.text}
                        </a>
                    );
                return part.kind === "word" ? <code key={index}>{part.text}</code> : part.text;
            })}
        </span>
    );
}
