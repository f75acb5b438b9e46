// Words of the editor.

import { dictionary } from ".";

export const editor = dictionary(
    {
        failed: "The editor could not be loaded. Load the page again.",
        keys: "Tab indents; Escape and then Tab leaves the editor. Ctrl+Space completes, Ctrl+F searches, Ctrl+Enter runs.",
        keys_reading: "Ctrl+F searches.",
        loading: "Loading the editor…",
    },
    {
        failed: "Не удалось загрузить редактор. Обновите страницу.",
        keys: "Tab сдвигает строку; Escape, затем Tab — выйти из редактора. Ctrl+Пробел — подсказки, Ctrl+F — поиск, Ctrl+Enter — прогон.",
        keys_reading: "Ctrl+F — поиск.",
        loading: "Редактор загружается…",
    },
);
