// Pictures of the navigation and of buttons, drawn in a box of 20.

const PATHS = {
    overview: "M3 11h4l2-6 3 10 2-4h3",
    orders: "M5 3h10v14H5zM8 7h4M8 10h4M8 13h2",
    flows: "M3 6h6a3 3 0 0 1 3 3v2a3 3 0 0 0 3 3h2M3 14h4M14 6h3M15 12l2 2-2 2M15 4l2 2-2 2",
    queues: "M3 5h14M3 10h14M3 15h8",
    subscriptions: "M5 14V9a5 5 0 0 1 10 0v5l1.500 1.500h-13zM8.500 17.500h3",
    windows: "M4 5h12v12H4zM4 9h12M8 3v4M12 3v4",
    schedules: "M10 17a7 7 0 1 0 0-14 7 7 0 0 0 0 14zM10 6v4h4",
    errors: "M10 3l8 14H2zM10 8v4M10 14.5v.5",
    operations: "M4 5h9M4 10h9M4 15h9M16 5v.5M16 10v.5M16 15v.5",
    refused: "M4 5h12v10H4zM4 5l6 6 6-6M7 18h6",
    scenarios: "M4 3h5v4H4zM11 13h5v4h-5zM6.5 7v5a3 3 0 0 0 3 3H11",
    workbench: "M4 16l8-8M11 4l5 5-3 1-3-3zM3 17l2-1-1-1z",
    deployment: "M4 4h12v4H4zM4 12h12v4H4zM7 6v.5M7 14v.5",
    audit: "M10 3l6 2v5c0 4-3 6-6 7-3-1-6-3-6-7V5zM7.5 10l2 2 3.5-4",
    access: "M7 12a4 4 0 1 1 3-1.5l7 6.5M14 14l2-2",
    code: "M7 6l-4 4 4 4M13 6l4 4-4 4",
    search: "M9 15A6 6 0 1 0 9 3a6 6 0 0 0 0 12zM13.5 13.5L17 17",
    menu: "M3 5h14M3 10h14M3 15h14",
    sun: "M10 13a3 3 0 1 0 0-6 3 3 0 0 0 0 6zM10 2v2M10 16v2M2 10h2M16 10h2M4.5 4.5L6 6M14 14l1.5 1.5M15.5 4.5L14 6M6 14l-1.5 1.5",
    person: "M10 10a3.5 3.5 0 1 0 0-7 3.5 3.5 0 0 0 0 7zM3.5 17a6.5 6.5 0 0 1 13 0",
    clock: "M10 17a7 7 0 1 0 0-14 7 7 0 0 0 0 14zM10 6v4l3 2",
    right: "M7 4l6 6-6 6",
    left: "M13 4l-6 6 6 6",
    first: "M14 4l-6 6 6 6M5 4v12",
    last: "M6 4l6 6-6 6M15 4v12",
    up: "M4 13l6-6 6 6",
    down: "M4 7l6 6 6-6",
    refresh: "M16 10a6 6 0 1 1-2-4.5M16 3v3h-3",
    plus: "M10 4v12M4 10h12",
    pause: "M7 4v12M13 4v12",
    play: "M6 4l10 6-10 6z",
} as const;

export type IconName = keyof typeof PATHS;

export function Icon({ name }: { name: IconName }) {
    return (
        <svg class="icon" viewBox="0 0 20 20" aria-hidden="true">
            <path d={PATHS[name]} />
        </svg>
    );
}
