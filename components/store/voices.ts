/**
 * The voices of the server and which of them is chosen. What was heard in this visit and what was used lately is kept here
 * too, since every list of voices shows it.
 */
import { create } from "zustand";
import { persist } from "zustand/middleware";
import { type Trouble, troubleOf } from "../api/trouble.ts";
import { fetchVoices, type Voice } from "../api/voices.ts";

export type { Voice } from "../api/voices.ts";

interface VoicesState {
  readonly load: "idle" | "loading" | "ready" | "failed";
  readonly trouble: Trouble | undefined;
  readonly voices: readonly Voice[];
  /** Ids that were listened to in this visit. */
  readonly heard: ReadonlySet<string>;
}

export const useVoices = create<VoicesState>()(() => ({
  load: "idle",
  trouble: undefined,
  voices: [],
  heard: new Set<string>(),
}));

interface ChoiceState {
  /** Id of the voice that speaks; empty until the list is known. */
  readonly chosen: string;
  /** Ids of voices that spoke, the latest first. */
  readonly recent: readonly string[];
}

const RECENT = 9;

export const useVoiceChoice = create<ChoiceState>()(
  persist((): ChoiceState => ({ chosen: "", recent: [] }), { name: "sonant-voice" }),
);

export function chooseVoice(id: string): void {
  useVoiceChoice.setState({ chosen: id });
}

/** Remembers that a voice spoke a take. */
export function voiceUsed(id: string): void {
  useVoiceChoice.setState(({ recent }) => ({
    recent: [id, ...recent.filter((other) => other !== id)].slice(0, RECENT),
  }));
}

export function voiceHeard(id: string): void {
  useVoices.setState(({ heard }) => ({ heard: new Set(heard).add(id) }));
}

/** Reads the list, again if it is known already. A chosen voice that is gone gives way to the default. */
export async function loadVoices(): Promise<void> {
  useVoices.setState({ load: "loading", trouble: undefined });
  try {
    const voices = await fetchVoices();
    useVoices.setState({ load: "ready", voices });
    const { chosen } = useVoiceChoice.getState();
    if (!voices.some(({ id }) => id === chosen)) {
      chooseVoice((voices.find(({ isDefault }) => isDefault) ?? voices[0])?.id ?? "");
    }
  } catch (error) {
    useVoices.setState({ load: "failed", trouble: troubleOf(error) });
  }
}

/** The voice with an id. */
export function voiceById(id: string): Voice | undefined {
  return useVoices.getState().voices.find((voice) => voice.id === id);
}
