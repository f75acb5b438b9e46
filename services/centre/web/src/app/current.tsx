// The page of the present address.

import type { ComponentType } from "preact";
import { useEffect, useState } from "preact/hooks";
import { common } from "../text/common";
import { shell } from "../text/shell";
import { Page } from "../parts/page";
import { Button } from "../parts/button";
import { ready } from "./needs";
import { ROUTES, type PageProps, type PageRoute } from "./pages";
import { match, path } from "./router";
import { session } from "./session";

interface Loaded {
    route: PageRoute;
    Show?: ComponentType<PageProps>;
    failure?: string;
}

export function CurrentPage() {
    const found = routeOf(path.value);
    const route = found?.route;
    const [loaded, setLoaded] = useState<Loaded>();
    const [attempt, setAttempt] = useState(0);
    useEffect(() => {
        if (!route) return undefined;
        let wanted = true;
        show(route).then(
            (Show) => wanted && setLoaded({ route, Show }),
            (error: unknown) => wanted && setLoaded({ route, failure: String(error) }),
        );
        return () => {
            wanted = false;
        };
    }, [route, attempt]);
    if (!found) return <Page title={common("not_found_page")}>{null}</Page>;
    if (!session.value || !loaded || loaded.route !== route) return <p class="page-loading">{shell("loading_page")}</p>;
    if (!loaded.Show)
        return (
            <div class="problem" role="alert">
                <p>{shell("page_failed", { reason: loaded.failure ?? "" })}</p>
                <Button onClick={() => setAttempt(attempt + 1)}>{common("retry")}</Button>
            </div>
        );
    // A page with another value in its path is another page: nothing typed or chosen goes from one order to the next.
    return <loaded.Show key={path.value} {...found.values} />;
}

/** Loads a page with its words and style sheets. */
async function show(route: PageRoute): Promise<ComponentType<PageProps>> {
    const module = await route.load();
    await ready();
    return module.default;
}

/** Loads the page of the present address ahead of the moment when it is shown. */
export function loadAhead(): void {
    // A failure is met, and said, by the page itself.
    routeOf(path.value)?.route.load().catch(() => undefined);
}

function routeOf(path: string): { route: PageRoute; values: PageProps } | undefined {
    for (const route of ROUTES) {
        const values = match(route.pattern, path.length > 1 ? path.replace(/\/$/, "") : path);
        if (values) return { route, values };
    }
    return undefined;
}
