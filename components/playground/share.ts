/**
 * The set-up of the playground as the fragment of a link: it never reaches a server, and holds everything that a take is
 * made from. Pure.
 */
import type { TakeRequest } from "../store/takes.ts";

/** What a link restores. */
export type SharedSetup = Omit<TakeRequest, "voiceName" | "modelName">;

const MARK = "#take=";
const VERSION = 1;

/** The fragment for a set-up, beginning with `#`. */
export function fragmentOf(setup: SharedSetup): string {
  const { text, model, voice, seed, speed, temperature, audioTemperature, normalise } = setup;
  const sampling = { temperature, audioTemperature };
  const packed = { v: VERSION, text, model, voice, seed, speed, ...sampling, normalise };
  const bytes = new TextEncoder().encode(JSON.stringify(packed));
  const binary = Array.from(bytes, (byte) => String.fromCharCode(byte)).join("");
  return MARK + btoa(binary).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}

/**
 * The set-up of a fragment; undefined if it holds none.
 * @throws Error if it was meant to hold one and is damaged
 */
export function setupOf(fragment: string): SharedSetup | undefined {
  if (!fragment.startsWith(MARK)) return undefined;
  const base64 = fragment.slice(MARK.length).replaceAll("-", "+").replaceAll("_", "/");
  const bytes = Uint8Array.from(atob(base64), (character) => character.charCodeAt(0));
  const packed: unknown = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes));
  if (!isObject(packed) || packed.v !== VERSION) throw new Error("The link is of another kind");
  const { text, model, voice, seed, speed, temperature, audioTemperature, normalise } = packed;
  if (typeof text !== "string" || typeof voice !== "string" || !Number.isSafeInteger(seed)) {
    throw new Error("The link is damaged");
  }
  return {
    text,
    ...(typeof model === "string" && model !== "" ? { model } : {}),
    voice,
    seed: seed as number,
    speed: within(speed, 0.25, 4) ?? 1,
    temperature: within(temperature, 0.01, 5),
    audioTemperature: within(audioTemperature, 0.01, 5),
    normalise: normalise !== false,
  };
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null;
}

function within(value: unknown, least: number, most: number): number | undefined {
  return typeof value === "number" && value >= least && value <= most ? value : undefined;
}
