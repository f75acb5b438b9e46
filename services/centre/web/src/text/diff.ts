// Words of differences between two texts.

import { dictionary } from ".";

export const text = dictionary(
    {
        added: "added",
        removed: "removed",
        same: { one: "{n} line without a change", other: "{n} lines without a change" },
    },
    {
        added: "добавлено",
        removed: "удалено",
        same: { one: "{n} строка без изменений", few: "{n} строки без изменений", many: "{n} строк без изменений", other: "{n} строки без изменений" },
    },
);
