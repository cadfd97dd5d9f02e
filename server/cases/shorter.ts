/**
 * Shorter forms of cases that last for minutes as they are written, for tests and `--quick`: fewer repetitions, shorter
 * texts, shorter waits. What a case is about stays; only how often or how long is less.
 */
import type { Shorter } from "./world.ts";

export const SHORTER: Readonly<Record<string, Shorter>> = {
  B004: { repeats: 40 },
  B006: { repeats: 20 },
  B007: { repeats: 4 },
  B008: { repeats: 15 },
  B022: { repeats: 3 },
  B025: { repeats: 1200 },
  B026: { waitMs: 3000 },
  B033: { textChars: 110 },
  B035: { textChars: 330 },
  B038: { repeats: 25 },
  B064: { repeats: 3 },
  B067: { textChars: 400 },
  B069: { textChars: 110 },
  B070: { repeats: 24 },
  B072: { textChars: 110 },
  B073: { textChars: 110 },
  B074: { repeats: 200 },
  B075: { repeats: 2, textChars: 110 },
  B076: { repeats: 3 },
  B078: { repeats: 4 },
  B080: { repeats: 3, textChars: 110 },
  B088: { repeats: 200 },
  B095: { textChars: 110 },
  B121: { repeats: 5 },
  B136: { repeats: 1 },
  B137: { textChars: 60 },
  B148: { repeats: 3 },
};
