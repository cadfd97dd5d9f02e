/** Typed events for the parts of the audio layer, which know nothing of the page that listens. */

/** Listeners by event name; `Events` maps names to what they carry. */
export class Emitter<Events> {
  readonly #listeners = new Map<keyof Events, Set<(detail: never) => void>>();

  /** Calls `listener` on every such event until the returned function is called. */
  on<Name extends keyof Events>(name: Name, listener: (detail: Events[Name]) => void): () => void {
    const listeners = this.#listeners.get(name) ?? new Set();
    this.#listeners.set(name, listeners);
    listeners.add(listener);
    return () => {
      listeners.delete(listener);
    };
  }

  protected emit<Name extends keyof Events>(name: Name, detail: Events[Name]): void {
    for (const listener of [...(this.#listeners.get(name) ?? [])]) {
      (listener as (detail: Events[Name]) => void)(detail);
    }
  }
}
