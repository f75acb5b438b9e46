// What modules need before they are shown: words of the language, and style sheets. The bundle loads both when a module that
// needs them is first loaded.

type Load = () => Promise<unknown>;

const missing = new Set<Load>();

/** Adds something that has to be loaded before pages are shown. */
export function need(load: Load): void {
    missing.add(load);
}

/** Loads what is missing. Rejects with the first failure; what failed is loaded by the next call. */
export async function ready(): Promise<void> {
    const load = async (one: Load) => {
        await one();
        missing.delete(one);
    };
    await Promise.all([...missing].map(load));
}

/** Needs a style sheet: what the bundle makes of `import "….css"` in a module. */
export function needSheet(address: string): void {
    need(
        () =>
            new Promise<void>((resolve, reject) => {
                const link = document.createElement("link");
                link.rel = "stylesheet";
                link.href = address;
                link.onload = () => resolve();
                link.onerror = () => {
                    link.remove();
                    reject(new Error(address));
                };
                document.head.append(link);
            }),
    );
}
