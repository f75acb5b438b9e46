// Ranges of time that the overview looks back over.

export const RANGES = ["15m", "1h", "6h", "24h", "7d"] as const;
export type Range = (typeof RANGES)[number];
export const USUAL_RANGE: Range = "1h";

const LENGTHS: Record<Range, number> = { "15m": 15, "1h": 60, "6h": 360, "24h": 1_440, "7d": 10_080 };

/** Whether the server has looked back over less than was asked: where much is counted, one answer does not look at all. */
export function isShort(range: Range, stats: { at: string; since: string; stepSeconds: number }): boolean {
    const asked = Date.parse(stats.at) - LENGTHS[range] * 60_000;
    return Date.parse(stats.since) - asked > stats.stepSeconds * 1_000;
}

/** Length of the steps of a range, in words of the API: what a chart can show side by side. */
export const STEPS: Record<Range, string> = { "15m": "1m", "1h": "1m", "6h": "5m", "24h": "20m", "7d": "2h" };

/** How often the figures are asked for again, in ms: a week does not look otherwise after a second. */
export const PACES: Record<Range, number> = { "15m": 5_000, "1h": 5_000, "6h": 5_000, "24h": 10_000, "7d": 15_000 };
