/** What this server's own load generator can do, held against a plan. */
import { availableParallelism } from "node:os";
import type { StressConfig } from "../config/config.ts";
import { ApiError } from "../protocol/envelope.ts";
import type { StressPlan } from "../protocol/stress.ts";
import { largestOf, longestOf } from "../stress/shape.ts";

/** As many as the machine has cores: more would only wait for each other. */
export function maxProcesses(): number {
  return Math.max(1, availableParallelism());
}

/** @throws ApiError `invalid_value` with what this server's generator can do */
export function checkPlan(plan: StressPlan, { maxStreams, maxSeconds }: StressConfig): void {
  const wrong = (param: string, message: string) =>
    new ApiError("invalid_value", message, { param });
  if (plan.source !== "server") {
    throw wrong("source", "source: this generator makes load as 'server'; a browser makes its own");
  }
  const streams = largestOf(plan.shape) ?? 0;
  if (streams > maxStreams) {
    throw wrong(
      "shape",
      `shape: this server's generator makes up to ${maxStreams} requests at once, not ${streams}`,
    );
  }
  const seconds = longestOf(plan);
  if (seconds > maxSeconds) {
    throw wrong(
      "maxSeconds",
      `maxSeconds: a load test of this server's generator takes up to ${maxSeconds} s, not ${seconds} s`,
    );
  }
  if (plan.processes > maxProcesses()) {
    throw wrong(
      "processes",
      `processes: this server's machine has room for up to ${maxProcesses()}, not ${plan.processes}`,
    );
  }
}
