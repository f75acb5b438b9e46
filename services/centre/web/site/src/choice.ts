// The theme: that of the system, light, or dark. The choice is the one of the control centre.

const THEMES = ["auto", "light", "dark"] as const;
const NAMES = { auto: "Theme of the system", light: "Light theme", dark: "Dark theme" };
const SIGNS = { auto: "◐", light: "☀", dark: "☾" };

export function theme() {
    const button = document.querySelector<HTMLButtonElement>("[data-theme-button]");
    if (!button) return;
    const root = document.documentElement;
    const present = () => THEMES.find((one) => one === root.dataset["theme"]) ?? "auto";
    const show = () => {
        button.textContent = SIGNS[present()];
        button.setAttribute("aria-label", `${NAMES[present()]}: change it`);
        button.title = NAMES[present()];
    };
    button.addEventListener("click", () => {
        const next = THEMES[(THEMES.indexOf(present()) + 1) % THEMES.length] ?? "auto";
        root.dataset["theme"] = next;
        try {
            window.localStorage.setItem("pagurus.theme", next);
        } catch {
            // The choice lasts as long as the page.
        }
        show();
    });
    show();
    button.hidden = false;
}
