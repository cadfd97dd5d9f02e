/** How a load test is getting on, on a line of the terminal that is written over, or one line a step where it cannot be. */
import { loadName } from "../stress/output.ts";
import type { StressPlan, StressTick } from "../stress/types.ts";

const WIDTH = 100;

export class Progress {
  readonly #plan: StressPlan;
  readonly #isTerminal = process.stderr.isTTY === true;
  #told = "";

  constructor(plan: StressPlan) {
    this.#plan = plan;
  }

  tick(tick: StressTick): void {
    if (this.#isTerminal) {
      process.stderr.write(`\r${this.#line(tick).slice(0, WIDTH).padEnd(WIDTH)}`);
      return;
    }
    const name = this.#name(tick);
    if (name === this.#told || tick.phase === "drain") return;
    this.#told = name;
    process.stderr.write(`${name} ...\n`);
  }

  /** Leaves the line. */
  end(): void {
    if (this.#isTerminal) process.stderr.write("\n");
  }

  #name({ phase, wanted, step }: StressTick): string {
    if (phase === "probe") return "The probe, alone";
    if (phase === "warmup") return "Warming up";
    if (phase === "drain") return "Waiting for the last answers";
    const load = this.#plan.shape.kind === "ramp" ? "" : `, ${loadName({ wanted }, this.#plan)}`;
    return `${this.#plan.target}, step ${step + 1}${load}`;
  }

  #line(tick: StressTick): string {
    const { at, totals, ttfpMs, timesRealTime } = tick;
    const p95 = ttfpMs.p95 === null ? "-" : `${ttfpMs.p95.toFixed(0)} ms`;
    const others = totals.refused + totals.failed;
    const wrong = others > 0 ? `, ${others} not` : "";
    return (
      `${at.toFixed(0).padStart(4)} s  ${this.#name(tick)}: ${totals.spoken} spoken${wrong}, ` +
      `TTFP p95 ${p95}, ${timesRealTime.toFixed(1)} × real time`
    );
  }
}
