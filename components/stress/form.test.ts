/** How a set-up that was typed becomes a plan, and what is said of one that cannot. */
import { describe, expect, it } from "vitest";
import {
  browserLimits,
  FORM_SHAPES,
  type ProblemField,
  readForm,
  type StressForm,
} from "./form.ts";
import { FIRST_FORM, PRESETS, withPreset } from "./presets.ts";

const BROWSER = browserLimits("ws", false);
const SERVER = { streams: 256, seconds: 600, processes: 4 };

const read = (change: Partial<StressForm>) => {
  const form = { ...FIRST_FORM, ...change };
  return readForm(form, form.source === "browser" ? BROWSER : SERVER);
};

describe("a set-up that is fine", () => {
  it.each(PRESETS)("is that of the preset %s", (preset) => {
    const { plan, problems } = readForm(withPreset(FIRST_FORM, preset), BROWSER);
    expect(problems).toEqual({});
    expect(plan).toMatchObject({ source: "browser", processes: 1, seed: 1, voices: [] });
  });

  it.each(FORM_SHAPES)("may have the shape %s, with shares for percentages", (shape) => {
    const asked = { source: "server", processes: "2", maxSeconds: "600" } as const;
    const { plan } = read({ ...asked, shape, errorShare: "2,5", continuity: "95" });
    expect(plan?.shape.kind).toBe(shape);
    expect(plan).toMatchObject({ processes: 2, limits: { errorShare: 0.025, continuity: 0.95 } });
  });

  it("has in its shape what is typed, and nothing of the others", () => {
    expect(read({ shape: "steps", from: "2", to: "6", by: "2" }).plan?.shape).toEqual({
      kind: "steps",
      from: 2,
      to: 6,
      by: 2,
      stepSeconds: 8,
    });
    expect(read({ shape: "poisson", perSecond: "0.5" }).plan?.shape).toEqual({
      kind: "poisson",
      perSecond: 0.5,
    });
  });

  it("has no limits where none are typed", () => {
    expect(read({}).plan?.limits).toEqual({});
  });

  it("does not look at fields that are not shown", () => {
    expect(read({ shape: "fixed", from: "nonsense", processes: "0" }).problems).toEqual({});
  });

  it("says its own texts line by line", () => {
    const { plan } = read({ texts: "own", ownTexts: " One. \n\nTwo.\n" });
    expect(plan?.texts).toEqual({ name: "own", items: ["One.", "Two."] });
  });

  it("has readers in real time on the socket alone", () => {
    expect(read({ realTimeReaders: true }).plan?.realTimeReaders).toBe(true);
    expect(read({ realTimeReaders: true, target: "http" }).plan?.realTimeReaders).toBe(false);
  });
});

describe("a set-up that is not", () => {
  const cases: [Partial<StressForm>, ProblemField, string][] = [
    [{ concurrency: "" }, "concurrency", "whole"],
    [{ concurrency: "2.5" }, "concurrency", "whole"],
    [{ concurrency: "51" }, "concurrency", "streams"],
    [{ source: "server", concurrency: "257" }, "concurrency", "serverStreams"],
    [{ source: "server", seconds: "601" }, "seconds", "serverSeconds"],
    [{ source: "server", shape: "steps", stepSeconds: "100" }, "stepSeconds", "serverSeconds"],
    [{ source: "server", shape: "knee", ttfpP95Ms: "9" }, "maxSeconds", "serverSeconds"],
    [{ source: "server", processes: "5" }, "processes", "whole"],
    [{ seconds: "0.1" }, "seconds", "number"],
    [{ seconds: "1000" }, "maxSeconds", "tooLong"],
    [{ shape: "steps", to: "50", stepSeconds: "60" }, "maxSeconds", "tooLong"],
    [{ shape: "knee", from: "9", to: "8", ttfpP95Ms: "500" }, "from", "fromAbove"],
    [{ shape: "knee" }, "limits", "needsLimit"],
    [{ continuity: "101" }, "continuity", "number"],
    [{ texts: "own", ownTexts: " \n " }, "ownTexts", "noTexts"],
    [{ texts: "own", ownTexts: `Short.\n${"a".repeat(16_001)}` }, "ownTexts", "longText"],
    [{ seed: "-1" }, "seed", "whole"],
  ];
  it.each(cases)("%j is told beside %s: %s", (change, field, key) => {
    const { plan, problems } = read(change);
    expect(plan).toBeUndefined();
    expect(
      Object.fromEntries(Object.entries(problems).map(([name, { key }]) => [name, key])),
    ).toEqual({
      [field]: key,
    });
  });

  it("from a browser has fewer plain requests than sockets, unless they share a connection", () => {
    expect(browserLimits("http", false).streams).toBe(5);
    expect(browserLimits("sse", true).streams).toBe(50);
  });
});
