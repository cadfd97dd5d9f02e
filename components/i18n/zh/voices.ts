import type { voices as English } from "../en/voices.ts";

export const voices: typeof English = { title: "voices" };
