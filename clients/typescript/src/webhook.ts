/** Webhooks: check of their sender, and their content. */

/** A webhook that was not signed with the secret, or not just now. */
export class NotGenuine extends Error {
  override readonly name = "NotGenuine";
}

/** Age, in seconds, for which a webhook is usually good: one that was caught on its way cannot be played again later. */
export const MAX_AGE = 300;

/** Header fields as Express, Fastify and `node:http` have them, or as `fetch` does. */
export type HeaderFields = Headers | Record<string, string | readonly string[] | undefined>;

/**
 * Returns the content of a webhook, if it is genuine; otherwise throws `NotGenuine`.
 *
 * `body` is as it came, byte for byte. A notification may come twice, under the same `webhook-id`: the receiver must be able to handle that.
 */
export async function verifyWebhook(
  headers: HeaderFields,
  body: Uint8Array,
  secret: string,
  maxAge: number = MAX_AGE,
  now: number = Date.now() / 1000,
): Promise<Record<string, unknown>> {
  const id = field(headers, "webhook-id");
  const seconds = field(headers, "webhook-timestamp");
  if (!/^\d+$/.test(seconds) || Math.abs(now - Number(seconds)) > maxAge) {
    throw new NotGenuine("the webhook was not sent just now");
  }
  const prefix = "whsec_";
  const raw = secret.startsWith(prefix) ? bytes(secret.slice(prefix.length)) : new TextEncoder().encode(secret);
  const key = await crypto.subtle.importKey("raw", raw, { name: "HMAC", hash: "SHA-256" }, false, ["verify"]);
  const head = new TextEncoder().encode(`${id}.${seconds}.`);
  const signed = new Uint8Array(head.length + body.length);
  signed.set(head);
  signed.set(body, head.length);
  // There are several while the secret changes. The comparison of Web Crypto takes the same time whatever differs.
  for (const one of field(headers, "webhook-signature").split(" ")) {
    const given = one.startsWith("v1,") ? bytes(one.slice(3)) : undefined;
    if (given && (await crypto.subtle.verify("HMAC", key, given, signed))) {
      return JSON.parse(new TextDecoder().decode(body));
    }
  }
  throw new NotGenuine("the webhook is not signed with the secret");
}

function field(headers: HeaderFields, name: string): string {
  if (headers instanceof Headers) return headers.get(name) ?? "";
  const found = Object.entries(headers).find(([key]) => key.toLowerCase() === name)?.[1];
  return typeof found === "string" ? found : (found?.[0] ?? "");
}

/** The bytes of a text in Base64; none where it is not. */
function bytes(text: string): Uint8Array<ArrayBuffer> {
  try {
    return Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
  } catch {
    return new Uint8Array();
  }
}
