/** Recognition of many recordings, on as many cores as there are. */
import { availableParallelism } from "node:os";
import { recognise } from "./recognise.ts";

/** Fewer do not make up for the start of another process. */
const LEAST_RECORDINGS = 8;

/** As `recognise` without a grammar; the words of each recording do not depend on the number of cores. */
export async function understand(recordings: readonly Float32Array[]): Promise<string[][]> {
  const most = Math.ceil(recordings.length / LEAST_RECORDINGS);
  const parts = Math.min(availableParallelism(), most);
  const heard: string[][] = [];
  await Promise.all(
    Array.from({ length: parts }, async (_, part) => {
      const own = recordings.flatMap((_, i) => (i % parts === part ? [i] : []));
      const words = await recognise(own.map((i) => recordings[i] ?? new Float32Array(0)));
      for (const [k, i] of own.entries()) heard[i] = words[k] ?? [];
    }),
  );
  return heard;
}
