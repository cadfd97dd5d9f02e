/**
 * The sessions that may be resumed: those with a connection, which a newer one takes over, and those that lost theirs,
 * which wait for their client for a while.
 */
import { timingSafeEqual } from "node:crypto";
import type { LiveSession } from "./live-session.ts";

interface Place {
  readonly session: LiveSession;
  /** Ends the session when nobody has come; undefined while it has a connection. */
  readonly timer?: NodeJS.Timeout;
  /** Takes the session from the connection that has it. */
  readonly release?: () => void;
}

export class SessionShelf {
  readonly #ttlMs: number;
  readonly #maxWaiting: number;
  readonly #places = new Map<string, Place>();

  /** @param ttlMs how long a session waits for its client @param maxWaiting how many do; the oldest makes room */
  constructor(ttlMs: number, maxWaiting: number) {
    this.#ttlMs = ttlMs;
    this.#maxWaiting = maxWaiting;
  }

  /** A connection has the session; `release` makes it let go. */
  hold(session: LiveSession, release: () => void): void {
    this.#places.set(session.id, { session, release });
  }

  /** The connection of the session is lost. */
  put(session: LiveSession): void {
    this.#places.delete(session.id); // so that the order is that of the losses
    const waiting = [...this.#places.values()].filter(({ timer }) => timer !== undefined);
    const [oldest] = waiting;
    if (waiting.length >= this.#maxWaiting && oldest !== undefined) this.#giveUp(oldest);
    const place: Place = {
      session,
      timer: setTimeout(() => this.#giveUp(place), this.#ttlMs).unref(),
    };
    this.#places.set(session.id, place);
  }

  /** Gives up a session that waits. */
  #giveUp({ session, timer }: Place): void {
    clearTimeout(timer);
    this.#places.delete(session.id);
    void session.close();
  }

  /** The session has ended. */
  forget(session: LiveSession): void {
    this.#places.delete(session.id);
  }

  /** The session of this id if the token is its own; whoever has it lets go of it, and was then taken over. */
  take(
    id: string,
    token: string,
  ): { readonly session: LiveSession; readonly isTakenOver: boolean } | undefined {
    const place = this.#places.get(id);
    if (place === undefined) return undefined;
    const own = Buffer.from(place.session.token);
    const given = Buffer.from(token);
    if (own.length !== given.length || !timingSafeEqual(own, given)) return undefined;
    clearTimeout(place.timer);
    this.#places.delete(id);
    place.release?.();
    return { session: place.session, isTakenOver: place.release !== undefined };
  }

  async close(): Promise<void> {
    const places = [...this.#places.values()];
    this.#places.clear();
    for (const { timer } of places) clearTimeout(timer);
    await Promise.all(places.map(({ session }) => session.close()));
  }
}
