/** Text that nobody else has made, also over plain HTTP, where browsers keep `randomUUID` from pages. */
export function unique(): string {
    const bytes = crypto.getRandomValues(new Uint8Array(12));
    return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}
