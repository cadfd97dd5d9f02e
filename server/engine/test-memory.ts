/** For tests that watch resident memory: makes V8's own habits stand still while they do. */
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

setFlagsFromString("--expose-gc");
const collect = runInNewContext("gc") as () => void;

/**
 * Makes V8 take all the room for young objects that it ever will. It would do so by steps of up to 16 MB in the middle of
 * a measurement.
 */
export function fillYoungGeneration(): void {
  for (let round = 0; round < 5; round++) {
    const survivors = Array.from({ length: 1_000_000 }, (_, i) => ({ i }));
    if (survivors.length !== 1_000_000) throw new Error("The objects were not made");
    collect();
  }
}

/** Resident memory in MB once everything that can be freed is. */
export async function residentMb(): Promise<number> {
  for (let i = 0; i < 5; i++) {
    collect();
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  return process.memoryUsage.rss() / 2 ** 20;
}
