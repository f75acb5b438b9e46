/** A sentence of the engine, in which names stand between backticks. */
export function Prose({ text }: { text: string }) {
    return (
        <>
            {text.split("`").map((part, index) => (index % 2 === 1 ? <code key={index}>{part}</code> : part))}
        </>
    );
}
