/** Figures of the server that cases store and compare. */
import type { World } from "./world.ts";

const MEGABYTE = 1024 * 1024;
/** Memory that is free again is given back to the system some time later; the least of a few looks counts. */
const LOOKS = 5;
const LOOK_MS = 100;

/** Resident memory in MB. */
export async function residentMegabytes({ target }: World): Promise<number> {
  let least = Number.POSITIVE_INFINITY;
  for (let look = 0; look < LOOKS; look += 1) {
    least = Math.min(least, await target.residentBytes());
    await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
  }
  return least / MEGABYTE;
}

export async function openDescriptorCount({ target }: World): Promise<number> {
  return target.descriptors();
}

/** Files in the temporary folder of a server of our own. */
export async function temporaryFiles({ target }: World): Promise<number> {
  return (await target.own("counting temporary files").files("tmp")).length;
}
