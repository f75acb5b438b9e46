// Shows the theme that was chosen, here or in the control centre, before anything is drawn.

try {
    document.documentElement.dataset["theme"] = window.localStorage.getItem("pagurus.theme") ?? "auto";
} catch {
    // A browser that keeps nothing shows the theme of the system.
}
