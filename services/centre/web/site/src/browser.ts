// What a page can do where scripts run: search, theme, copying of code, and the list of pages on a narrow screen. All pages can
// be read without it.

import { theme } from "./choice";
import { copying, scrolling } from "./blocks";
import { search } from "./dialog";

theme();
search();
copying();
scrolling();
narrow();

/** Puts the list of pages above the text of a narrow page. */
function narrow() {
    const [side, menu] = [document.querySelector(".side"), document.querySelector<HTMLDetailsElement>(".menu")];
    const frame = side?.parentElement;
    if (!side || !menu || !frame) return;
    const query = matchMedia("(max-width: 860px)");
    const place = () => (query.matches ? menu.append(side) : frame.prepend(side));
    query.addEventListener("change", place);
    place();
    document.documentElement.dataset["scripted"] = "";
}
