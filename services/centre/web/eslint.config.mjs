// The laws of the Rust code, for the pages: short files, short functions, and no text outside the dictionaries.

import hooks from "eslint-plugin-react-hooks";
import tseslint from "typescript-eslint";

const inDictionaries = "text that people read stands in the dictionaries of src/text";

export default tseslint.config(
    { ignores: ["dist/**", "site/dist*/**", "src/api/schema.d.ts", "*.mjs"] },
    ...tseslint.configs.strict,
    {
        files: ["src/**/*.{ts,tsx}", "site/src/**/*.ts"],
        plugins: { "react-hooks": hooks },
        rules: {
            "react-hooks/rules-of-hooks": "error",
            "max-lines": ["error", { max: 400 }],
            "max-lines-per-function": ["error", { max: 70, skipBlankLines: true, skipComments: true }],
            eqeqeq: "error",
            "no-restricted-syntax": [
                "error",
                { selector: "JSXText[value=/\\p{L}/u]", message: inDictionaries },
                { selector: "JSXExpressionContainer > Literal[value=/\\p{L}/u]", message: inDictionaries },
                {
                    selector: "JSXAttribute[name.name=/^(title|label|placeholder|alt|aria-label|aria-description)$/] > Literal",
                    message: inDictionaries,
                },
                {
                    selector: "JSXAttribute[name.name='dangerouslySetInnerHTML']",
                    message: "text of orders and scenarios is never taken for HTML",
                },
                {
                    selector: "JSXAttribute[name.name='style']",
                    message: "the content security policy admits style sheets only: use a class",
                },
            ],
        },
    },
    { files: ["src/text/**"], rules: { "max-lines": "off" } },
    { files: ["src/**/*.test.ts"], rules: { "max-lines-per-function": "off" } },
);
