/** How figures of runs are written. Pure. */
import type { StressPlan } from "../../server/stress/types.ts";
import { fill } from "../i18n/format.ts";
import type { Strings } from "../i18n/strings.ts";

/** What stands where nothing was measured. */
export const UNKNOWN = "–";

/** A number with as many digits as are worth reading. */
export function plain(value: number): string {
  const digits = Math.abs(value) >= 100 ? 0 : Math.abs(value) >= 10 ? 1 : 2;
  return String(Number(value.toFixed(digits)));
}

export interface Writers {
  ms(value: number | null | undefined): string;
  plain(value: number | null | undefined): string;
  /** Of a share, 0 to 1; rounded down, since one gap among ten thousand is not none. */
  percent(share: number | null | undefined): string;
  times(value: number | null | undefined): string;
  seconds(value: number): string;
}

/** @param common words of units that every page has */
export function writersFor(words: Strings["stress"], common: Strings["common"]): Writers {
  const known = (value: number | null | undefined, write: (value: number) => string) =>
    value === null || value === undefined ? UNKNOWN : write(value);
  return {
    ms: (value) => known(value, (n) => fill(common.units.ms, { n: plain(n) })),
    plain: (value) => known(value, plain),
    percent: (share) =>
      known(share, (n) => fill(words.units.percent, { n: Math.floor(1000 * n) / 10 })),
    times: (value) => known(value, (n) => fill(words.units.times, { n: plain(n) })),
    seconds: (value) => fill(common.units.seconds, { n: plain(value) }),
  };
}

/** What a plan is called, such as `Steps 1 to 8 · socket`. */
export function planName({ shape, target }: StressPlan, words: Strings["stress"]["runs"]): string {
  const values = {
    ...shape,
    n: shape.kind === "fixed" ? shape.concurrency : shape.kind === "poisson" ? shape.perSecond : 0,
    list: shape.kind === "levels" ? shape.levels.join(", ") : "",
    levels: "",
  };
  return fill(words.atDoor, {
    plan: fill(words.plans[shape.kind], values),
    door: words.doors[target],
  });
}
