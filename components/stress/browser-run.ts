/** A run whose load this page makes. The generator is loaded with the first run, and never with the page. */
import type { StressPlan, StressServerFigures } from "../../server/stress/types.ts";
import { apiKey } from "../api/key.ts";
import { troubleOf } from "../api/trouble.ts";
import { useServer } from "../store/server.ts";
import type { RunListener } from "./run-handle.ts";

const MEGABYTE = 1e6;

/**
 * Begins a run; what becomes of it is told to the listener.
 * @param maxStreams requests at once that the browser can carry, where they come by chance
 */
export async function startInBrowser(
  plan: StressPlan,
  maxStreams: number,
  listener: RunListener,
): Promise<void> {
  try {
    const { startStress } = await import("../../server/stress/run.ts");
    const run = startStress({
      plan,
      maxStreams,
      access: { baseUrl: "", apiKey: apiKey() || undefined },
      generator: {
        kind: "browser",
        processes: 1,
        cores: navigator.hardwareConcurrency,
        agent: navigator.userAgent,
      },
      onTick: (tick) => listener.tick(tick),
      onSound: (info, pcm) => listener.sound(info, pcm),
      // The browser's few connections for plain requests are the load's.
      ...(plan.target === "ws" ? {} : { serverFigures }),
    });
    const handle = {
      stop: () => run.stop(),
      listen: (lane: number | null) => run.listen(lane),
      caveat: (sentence: string) => run.caveat(sentence),
    };
    listener.started(handle, new Date().toISOString());
    listener.ended(await run.report);
  } catch (error) {
    listener.failed(troubleOf(error));
  }
}

/** What the page's standing connection tells of the server anyway. */
function serverFigures(): StressServerFigures | null {
  const { tick, state } = useServer.getState();
  if (tick === undefined || state === "offline") return null;
  const { active, waiting, capacity, resident_bytes } = tick;
  return { active, queue: waiting, capacity, cores: null, residentMb: resident_bytes / MEGABYTE };
}
