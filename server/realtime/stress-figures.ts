/** What this server knows of itself while it is tested, without asking itself over HTTP. */
import type { StressServerFigures } from "../protocol/stress-report.ts";
import type { SpeechService } from "../speech/types.ts";

export class OwnFigures {
  readonly #service: Pick<SpeechService, "load">;
  #cpu = process.cpuUsage();
  #atMs = performance.now();

  constructor(service: Pick<SpeechService, "load">) {
    this.#service = service;
  }

  /** Cores are those since the reading before. */
  read(): StressServerFigures {
    const { active, waiting, capacity } = this.#service.load;
    const { user, system } = process.cpuUsage(this.#cpu);
    const now = performance.now();
    const seconds = (now - this.#atMs) / 1000;
    this.#cpu = process.cpuUsage();
    this.#atMs = now;
    return {
      active,
      queue: waiting,
      capacity,
      cores: seconds > 0 ? (user + system) / 1e6 / seconds : null,
      residentMb: process.memoryUsage.rss() / 1e6,
    };
  }
}
