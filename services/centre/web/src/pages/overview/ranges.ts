// Ranges of time that the overview looks back over.

export const RANGES = ["15m", "1h", "6h", "24h", "7d"] as const;
export type Range = (typeof RANGES)[number];
export const USUAL_RANGE: Range = "1h";

/** Length of the steps of a range, in words of the API: what a chart can show side by side. */
export const STEPS: Record<Range, string> = { "15m": "1m", "1h": "1m", "6h": "5m", "24h": "20m", "7d": "2h" };

/** How often the figures are asked for again, in ms: a week does not look otherwise after a second. */
export const PACES: Record<Range, number> = { "15m": 5_000, "1h": 5_000, "6h": 5_000, "24h": 10_000, "7d": 15_000 };
