/** What the programs of this folder have in common. */

export interface BrokerOptions {
  /** Address of the broker; if left out, `AMQP_URL`, or a broker on this machine. */
  url?: string;
  /** Prefix of the engine's names at the broker; if left out, `PAGURUS_PREFIX`, or `pagurus`. */
  prefix?: string;
  /** Options of the socket, as for `tls.connect`: the CA, and the certificate of the client. */
  socketOptions?: object;
}

/** Receives what happens, as lines for people; `console` is one. */
export interface Log {
  info(message: string): void;
  warn(message: string): void;
  error(message: string, cause?: unknown): void;
}

/** Writes warnings and errors to the console. */
export const DEFAULT_LOG: Log = {
  info: () => {},
  warn: (message) => console.warn(message),
  error: (message, cause) => console.error(message, cause ?? ""),
};

/** Throws if this is no number of messages that a program can have at work. */
export function checkPrefetch(prefetch = 1): void {
  const isOne = Number.isInteger(prefetch) && prefetch >= 1 && prefetch <= 65_535;
  if (!isOne) throw new RangeError("`prefetch` must be a whole number from 1 to 65535");
}
