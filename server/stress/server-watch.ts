/** What a server tells of itself while it is under load, read once a second. Never fails: who does not answer tells nothing. */
import { SpeechClient } from "../protocol/client/index.ts";
import type { StressAccess, StressClock, StressServerFacts, StressServerFigures } from "./types.ts";

const PERIOD_MS = 1000;

/**
 * Who answers at all, and as what.
 * @param name of the model that will speak; undefined: the one that does by default
 * @throws SonantError
 */
export async function factsOf(
  access: StressAccess,
  name: string | undefined,
  signal: AbortSignal,
): Promise<StressServerFacts> {
  const client = new SpeechClient(access);
  const version = await client.version({ signal });
  const model =
    name === undefined
      ? { main: version.model, device: version.device, engine: version.engine }
      : (await client.model(name, { signal })).sonant;
  return {
    version: version.version,
    commit: version.commit ?? null,
    model: model.main,
    device: model.device,
    engine: model.engine?.description ?? null,
    precision: model.engine?.precision ?? null,
    configSha256: version.config_sha256,
  };
}

export class ServerWatch {
  readonly #client: SpeechClient;
  readonly #clock: StressClock;
  readonly #end = new AbortController();
  #figures: StressServerFigures | null = null;
  #cpu: { readonly seconds: number; readonly atMs: number } | undefined;

  constructor(access: StressAccess, clock: StressClock) {
    this.#client = new SpeechClient(access);
    this.#clock = clock;
    void this.#watch();
  }

  /** The last reading; null before there is one. */
  read(): StressServerFigures | null {
    return this.#figures;
  }

  end(): void {
    this.#end.abort();
  }

  async #watch(): Promise<void> {
    const { signal } = this.#end;
    while (!signal.aborted) {
      const [ready, metrics] = await Promise.all([
        this.#client.ready({ signal }).catch(() => undefined),
        this.#client.metrics({ signal }).catch(() => ""),
      ]);
      if (ready !== undefined) {
        const { active, waiting: queue, capacity } = ready;
        const resident = figureOf(metrics, "process_resident_memory_bytes");
        this.#figures = {
          active,
          queue,
          capacity,
          cores: this.#cores(figureOf(metrics, "process_cpu_seconds_total")),
          residentMb: resident === null ? null : resident / 1e6,
        };
      }
      await this.#clock.wait(PERIOD_MS, signal);
    }
  }

  #cores(seconds: number | null): number | null {
    const before = this.#cpu;
    const atMs = this.#clock.now();
    this.#cpu = seconds === null ? undefined : { seconds, atMs };
    if (before === undefined || seconds === null || atMs <= before.atMs) return null;
    return (seconds - before.seconds) / ((atMs - before.atMs) / 1000);
  }
}

/** A figure of Prometheus' text format without labels that matter; null if it is not there. */
function figureOf(metrics: string, name: string): number | null {
  const value = new RegExp(`^${name}(?:\\{[^}]*\\})? (\\S+)`, "m").exec(metrics)?.[1];
  return value === undefined || !Number.isFinite(Number(value)) ? null : Number(value);
}
