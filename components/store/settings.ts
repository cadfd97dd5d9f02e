/** How the next take is made, and how it is played. Survives a reload. */
import { create } from "zustand";
import { persist } from "zustand/middleware";

export interface Settings {
  readonly text: string;
  /** Model that speaks; empty, or one that is not there: the server's default. */
  readonly model: string;
  /** Used while `seedLocked`; otherwise each take draws its own. */
  readonly seed: number;
  readonly seedLocked: boolean;
  /** Tempo of the generated speech at the same pitch, 0.25 to 4. */
  readonly speed: number;
  /** Sampling; undefined leaves it to the server. */
  readonly temperature: number | undefined;
  readonly audioTemperature: number | undefined;
  readonly normalise: boolean;
  /** Volume of playback, 0 to 1. */
  readonly volume: number;
}

/** What a first visitor finds in the script: names, a number, a question, and a pause to breathe. */
export const FIRST_TEXT =
  "Hello, and welcome. This voice was made on your own machine, a frame at a time. Would you like to hear your own words next?";

export const DEFAULTS: Settings = {
  text: FIRST_TEXT,
  model: "",
  seed: 1,
  seedLocked: false,
  speed: 1,
  temperature: undefined,
  audioTemperature: undefined,
  normalise: true,
  volume: 1,
};

export const useSettings = create<Settings>()(
  persist((): Settings => DEFAULTS, { name: "sonant-settings", version: 1 }),
);

export function changeSettings(change: Partial<Settings>): void {
  useSettings.setState(change);
}

/** Largest seed that is drawn: short enough to be read out and typed. */
const DRAWN_SEEDS = 1_000_000;

export function drawSeed(): number {
  const [random = 0] = crypto.getRandomValues(new Uint32Array(1));
  return random % DRAWN_SEEDS;
}
