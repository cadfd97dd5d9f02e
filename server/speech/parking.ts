/**
 * Readers who are behind do not keep others waiting: the slot of a unit that the engine has paused for its reader goes to
 * the next in line, and the unit asks for one again when its reader has caught up. Its state stays in the engine, which
 * has room for a few such units beside those that it speaks.
 */
import type { EngineStream } from "../engine/stream.ts";
import type { Listener, Ticket } from "./admission.ts";

/** A pause that lasts this long is no hiccup; also how often it is tried again where too many are parked. */
const PATIENCE_MS = 250;

/** Parks the stream's unit whenever its reader is behind. Over when the engine has let go of the stream. */
export function parkWhilePaused(stream: EngineStream, ticket: Ticket, listener: Listener): void {
  let timer: NodeJS.Timeout | undefined;
  let isParked = false;
  stream.onLagging((isLagging) => {
    clearInterval(timer);
    if (isLagging) timer = setInterval(park, PATIENCE_MS);
    else if (isParked) void comeBack();
  });
  void stream.finished.then(() => clearInterval(timer));

  function park(): void {
    if (!ticket.park(listener)) return;
    clearInterval(timer);
    isParked = true;
    stream.hold();
  }

  async function comeBack(): Promise<void> {
    // False: the unit is over.
    if (!(await ticket.unpark())) return;
    isParked = false;
    stream.release();
  }
}
