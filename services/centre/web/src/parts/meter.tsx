import { number } from "../app/time";
import { common } from "../text/common";

/** A number against what is allowed, as a bar with its text; without a bound the text alone. */
export function Meter({ label, value, of }: { label: string; value: number; of: number | null | undefined }) {
    if (of === null || of === undefined) return <span class="number">{number(value)}</span>;
    const full = of === 0 || value >= of;
    return (
        <span class="meter">
            <span class="number">{common("of", { value, of })}</span>
            <meter aria-label={label} min={0} max={Math.max(of, 1)} high={Math.max(of, 1) * 0.999} optimum={0} value={full ? Math.max(of, 1) : value} />
        </span>
    );
}
