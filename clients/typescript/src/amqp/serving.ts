/** The life of a program that serves a queue: opens a channel, serves until it is lost, pauses, and opens the next, until it is stopped. */

import type { Broker, Channel } from "./broker.js";
import type { Log } from "./options.js";

/** Milliseconds between attempts to open a channel: the first pause, and the longest after doubling. */
const PAUSES = { first: 500, longest: 15_000 };

/** What serves a queue. */
export interface Server {
  /** The queue, for the log. */
  readonly queue: string;
  /** True while something is at work whose end must be reported. */
  readonly isBusy: boolean;
  /** Prepares a new channel, and takes messages from it unless `isStopping`. Returns how to take no more. */
  open(broker: Broker, channel: Channel, isStopping: boolean): Promise<(() => Promise<void>) | undefined>;
  /** Forgets the channel: what was not acknowledged comes again. */
  leave(): Promise<void>;
  /** Resolves when nothing is at work. */
  idle(): Promise<void>;
}

/** Serves until the signal; then takes nothing new, and returns when nothing is at work. Never fails. */
export async function serve(server: Server, broker: Broker, log: Log, stop: AbortSignal): Promise<void> {
  const stopped = aborted(stop);
  let pause = PAUSES.first;
  while (server.isBusy || !stop.aborted) {
    let channel: Channel | undefined;
    try {
      channel = await broker.channel();
      const cease = await server.open(broker, channel, stop.aborted);
      pause = PAUSES.first;
      log.info(`serving ${server.queue}`);
      const reason = await Promise.race([channel.lost, stopped.then(() => end(server, cease))]);
      if (reason === undefined) return;
      throw reason;
    } catch (failure) {
      // NOT_FOUND before the first task of a name: the engine makes the queue with it.
      log.warn(`${server.queue}: ${failure instanceof Error ? failure.message : failure}; trying again`);
    } finally {
      await server.leave();
      await channel?.close();
    }
    // What still runs must be reported before the end; nothing else holds the end up.
    await restUnless(stop, pause * (0.5 + Math.random() / 2), () => server.isBusy);
    pause = Math.min(pause * 2, PAUSES.longest);
  }
}

async function end(server: Server, cease: (() => Promise<void>) | undefined): Promise<undefined> {
  await cease?.();
  await server.idle();
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener("abort", () => resolve(), { once: true });
  });
}

/** Rests for some milliseconds, or until the signal, unless something must be reported. */
export async function restUnless(signal: AbortSignal, milliseconds: number, isBusy = () => false): Promise<void> {
  await new Promise<void>((resolve) => {
    const over = () => {
      clearTimeout(timer);
      signal.removeEventListener("abort", stopped);
      resolve();
    };
    const stopped = () => {
      if (!isBusy()) over();
    };
    const timer = setTimeout(over, milliseconds);
    signal.addEventListener("abort", stopped);
    if (signal.aborted) stopped();
  });
}

/** Most handled messages that are remembered because they will come again. */
const REMEMBERED = 1000;

/** Remembers what was handled, and forgets the oldest of too many. */
export function remember(handled: Set<string>, key: string): void {
  handled.add(key);
  for (const oldest of handled) {
    if (handled.size <= REMEMBERED) return;
    handled.delete(oldest);
  }
}
