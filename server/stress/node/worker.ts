/**
 * One process of a load test: a generator that does what its coordinator says. Ends when it is told to, or when nobody is
 * there any more who could.
 */
import { WebSocket } from "ws";
import type { WebSocketConstructor } from "../../protocol/client/index.ts";
import { REAL_CLOCK } from "../clock.ts";
import { LoadGenerator } from "../generator.ts";
import type { StressAccess } from "../types.ts";
import { packWindow } from "../window.ts";
import type { FromWorker, Question, Setup, ToWorker } from "./messages.ts";

let generator: LoadGenerator | undefined;

function say(message: FromWorker, told?: () => void): void {
  if (process.connected) process.send?.(message, undefined, undefined, () => told?.());
}

/** Where the load goes, with headers on everything that is sent there. */
function accessOf({ baseUrl, apiKey, headers }: Setup): StressAccess {
  class LoadSocket extends WebSocket {
    constructor(url: string, protocols?: string[], options?: { headers: Record<string, string> }) {
      super(url, protocols, { ...options, headers: { ...headers, ...options?.headers } });
    }
  }
  return {
    baseUrl,
    apiKey,
    WebSocket: LoadSocket as unknown as WebSocketConstructor,
    fetch: (input, init) =>
      globalThis.fetch(input, { ...init, headers: { ...headers, ...(init?.headers as object) } }),
  };
}

async function answer(own: LoadGenerator, question: Question, value: unknown): Promise<unknown> {
  switch (question) {
    case "probeAlone":
      return own.probeAlone();
    case "warmUp":
      return own.warmUp(value as number);
    case "collect":
      return packWindow(await own.collect());
    case "close":
      await own.close();
      return packWindow(await own.collect());
  }
}

process.on("message", (message: ToWorker) => {
  if (message.kind === "setup") {
    const { plan, index, processes, maxStreams } = message.setup;
    generator = new LoadGenerator({
      ...{ plan, index, processes, maxStreams },
      access: accessOf(message.setup),
      clock: REAL_CLOCK,
      onSound: (info, pcm) => say({ kind: "sound", info, pcm }),
    });
    say({ kind: "ready" });
    return;
  }
  const own = generator;
  if (own === undefined) return;
  switch (message.kind) {
    case "ask": {
      const { id, question, value } = message;
      void answer(own, question, value).then((answered) => {
        const isLast = question === "close";
        say({ kind: "answer", id, value: answered }, isLast ? () => process.exit() : undefined);
      });
      return;
    }
    case "step":
      own.step(message.index);
      return;
    case "want":
      own.want(message.concurrency);
      return;
    case "arrive":
      own.arrive(message.perSecond, message.seconds);
      return;
    case "rest":
      own.rest();
      return;
    case "abort":
      own.abort();
      return;
    case "listen":
      own.listen(message.lane);
  }
});

process.on("disconnect", () => process.exit());
// The terminal sends an interrupt to all processes of a command; the coordinator decides what it means.
process.on("SIGINT", () => {});
