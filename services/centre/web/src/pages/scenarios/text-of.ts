import { pathOf, queryText, type Read } from "../../api/client";

/** Asks for the text of a version, which never changes. */
export const textOf = (name: string, version: number): Read<string> => ({
    method: "GET",
    url: pathOf("/v1/scenarios/{name}", { name }) + queryText({ version }),
});
