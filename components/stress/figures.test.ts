/** How figures and plans are written. */
import { describe, expect, it } from "vitest";
import type { StressPlan } from "../../server/stress/types.ts";
import { STRINGS } from "../i18n/strings.ts";
import { plain, planName, writersFor } from "./figures.ts";

const { stress, common } = STRINGS.en;
const writers = writersFor(stress, common);

describe("figures", () => {
  it("have as many digits as are worth reading", () => {
    expect([0.3333, 12.345, 1234.5, 2].map(plain)).toEqual(["0.33", "12.3", "1235", "2"]);
    expect(writers.ms(230.4)).toBe("230 ms");
    expect(writers.times(8.567)).toBe("8.57 ×");
  });

  it("are a dash where nothing was measured", () => {
    expect([writers.ms(null), writers.percent(undefined), writers.plain(null)]).toEqual([
      "–",
      "–",
      "–",
    ]);
  });

  it("do not round one gap among ten thousand away", () => {
    expect(writers.percent(0.9999)).toBe("99.9 %");
    expect(writers.percent(1)).toBe("100 %");
  });
});

describe("a plan", () => {
  const name = (shape: StressPlan["shape"]) =>
    planName({ shape, target: "ws" } as StressPlan, stress.runs);

  it.each([
    [{ kind: "fixed", concurrency: 4 }, "4 at once · socket"],
    [{ kind: "steps", from: 1, to: 8, by: 1, stepSeconds: 8 }, "Steps 1 to 8 · socket"],
    [{ kind: "levels", levels: [1, 4, 16], stepSeconds: 8 }, "Levels 1, 4, 16 · socket"],
    [{ kind: "poisson", perSecond: 0.5 }, "0.5 a second by chance · socket"],
    [{ kind: "knee", from: 1, to: 32, stepSeconds: 8 }, "Knee 1 to 32 · socket"],
  ] as const)("%j is called %s", (shape, expected) => {
    expect(name(shape as StressPlan["shape"])).toBe(expected);
  });
});
