/** What this server knows of itself while it is tested, without asking itself over HTTP. */
import type { Models } from "../house/types.ts";
import type { StressServerFigures } from "../protocol/stress-report.ts";

export class OwnFigures {
  readonly #models: Pick<Models, "load">;
  #cpu = process.cpuUsage();
  #atMs = performance.now();

  constructor(models: Pick<Models, "load">) {
    this.#models = models;
  }

  /** Cores are those since the reading before. */
  read(): StressServerFigures {
    const { active, waiting, capacity } = this.#models.load;
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
