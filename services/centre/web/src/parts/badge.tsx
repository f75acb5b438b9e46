// A word with a colour of its kind. The word alone says it too.

type Tone = "good" | "bad" | "busy" | "wait" | "rest" | "warn" | "plain";

const TONES: Record<string, Tone> = {
    success: "good",
    enabled: "good",
    healthy: "good",
    active: "good",
    open: "good",
    ok: "good",
    done: "good",
    on_target: "good",
    target: "good",
    fail: "bad",
    failed: "bad",
    inconsistent: "bad",
    failing: "bad",
    stopped: "bad",
    closed: "bad",
    lost: "bad",
    critical: "bad",
    error: "bad",
    off_target: "bad",
    running: "busy",
    ready: "busy",
    probing: "busy",
    recovering: "busy",
    draining: "busy",
    starting: "busy",
    wait: "wait",
    polling: "wait",
    dependent: "wait",
    sleep: "rest",
    postponed: "rest",
    paused: "rest",
    standby: "rest",
    stopping: "rest",
    offline: "rest",
    disabled_manually: "rest",
    kept_stopped: "rest",
    forced_open: "rest",
    retry: "warn",
    warning: "warn",
    degraded: "warn",
    limited: "warn",
    slowing: "warn",
};

/** A status, a state or another word of the engine, as it writes it. */
export function Badge({ word, tone }: { word: string | null | undefined; tone?: Tone }) {
    if (!word) return null;
    return <span class={`badge ${tone ?? TONES[word] ?? "plain"}`}>{word}</span>;
}
