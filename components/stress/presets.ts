/** What a visitor finds in the set-up, and beginnings for the usual questions. */
import type { StressForm } from "./form.ts";

export const FIRST_FORM: StressForm = {
  source: "browser",
  target: "ws",
  shape: "fixed",
  concurrency: "4",
  from: "1",
  to: "8",
  by: "1",
  perSecond: "1",
  seconds: "20",
  stepSeconds: "8",
  texts: "mixed",
  ownTexts: "",
  voices: [],
  ttfpP95Ms: "",
  continuity: "",
  errorShare: "",
  maxSeconds: "900",
  maxRequests: "100000",
  seed: "1",
  warmup: "2",
  processes: "1",
  probe: true,
  realTimeReaders: false,
};

export const PRESETS = ["quick", "steps", "knee", "arrivals", "soak"] as const;
export type Preset = (typeof PRESETS)[number];

/** What each changes; texts, voices, target and source stay as they are. */
const CHANGES: Readonly<Record<Preset, Partial<StressForm>>> = {
  quick: { shape: "fixed", concurrency: "4", seconds: "20" },
  steps: { shape: "steps", from: "1", to: "8", by: "1", stepSeconds: "8" },
  knee: {
    shape: "knee",
    from: "1",
    to: "32",
    stepSeconds: "10",
    ttfpP95Ms: "500",
    continuity: "95",
  },
  arrivals: { shape: "poisson", perSecond: "1", seconds: "60" },
  soak: { shape: "fixed", concurrency: "4", seconds: "1800", maxSeconds: "2000" },
};

/** The form for a usual question. Limits and guards of another preset do not linger. */
export function withPreset(form: StressForm, preset: Preset): StressForm {
  const { ttfpP95Ms, continuity, errorShare, maxSeconds, maxRequests } = FIRST_FORM;
  const guards = { ttfpP95Ms, continuity, errorShare, maxSeconds, maxRequests };
  return { ...form, ...guards, ...CHANGES[preset] };
}
