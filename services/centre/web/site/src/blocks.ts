// Blocks of code and tables: what is wider than the page can be scrolled by keyboard, and code can be copied.

/** Lets the keyboard reach what can be scrolled, and nothing else. */
export function scrolling() {
    const boxes = [...document.querySelectorAll<HTMLElement>(".code pre, .table-frame")];
    const mark = (box: HTMLElement) => {
        if (box.scrollWidth > box.clientWidth) {
            box.tabIndex = 0;
            // No landmark: a page has too many of them.
            box.setAttribute("role", "group");
            box.setAttribute("aria-label", box.tagName === "PRE" ? "Code" : "Table");
        } else {
            for (const name of ["tabindex", "role", "aria-label"]) box.removeAttribute(name);
        }
    };
    const sizes = new ResizeObserver((entries) => entries.forEach((entry) => mark(entry.target as HTMLElement)));
    boxes.forEach((box) => sizes.observe(box));
}

/** Adds a button to each block that copies it; of a session at a terminal, what is typed. */
export function copying() {
    if (!("clipboard" in navigator)) return;
    for (const block of document.querySelectorAll<HTMLElement>(".code")) {
        const pre = block.querySelector("pre");
        if (!pre) continue;
        const button = document.createElement("button");
        button.type = "button";
        button.className = "copy";
        button.textContent = "Copy";
        button.addEventListener("click", () => {
            const typed = [...pre.querySelectorAll(".typed")].map((line) => line.textContent);
            const text = "session" in pre.dataset ? typed.join("\n") : pre.textContent;
            void navigator.clipboard.writeText(text ?? "").then(() => (button.textContent = "Copied"));
        });
        block.append(button);
    }
}
