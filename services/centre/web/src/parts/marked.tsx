/** A sentence of the engine, in which words between backquotes are words of its data. */
export function Marked({ text }: { text: string }) {
    return <>{text.split("`").map((part, index) => (index % 2 === 1 ? <code key={index}>{part}</code> : part))}</>;
}
