/**
 * The voices of the chosen model and which of them is chosen. What was heard in this visit and what was used lately is kept here
 * too, since every list of voices shows it.
 */
import { create } from "zustand";
import { persist } from "zustand/middleware";
import { type Trouble, troubleOf } from "../api/trouble.ts";
import { fetchVoices, type Voice } from "../api/voices.ts";
import { chosenModel, knowModels, requestedModel } from "./models.ts";
import { changeSettings } from "./settings.ts";

export type { Voice } from "../api/voices.ts";

interface VoicesState {
  readonly load: "idle" | "loading" | "ready" | "failed";
  readonly trouble: Trouble | undefined;
  readonly voices: readonly Voice[];
  /** Model that they belong to; undefined where the server has only one. */
  readonly model: string | undefined;
  /** Ids that were listened to in this visit. */
  readonly heard: ReadonlySet<string>;
}

export const useVoices = create<VoicesState>()(() => ({
  load: "idle",
  trouble: undefined,
  voices: [],
  model: undefined,
  heard: new Set<string>(),
}));

interface ChoiceState {
  /** Id of the voice that speaks; empty until the list is known. */
  readonly chosen: string;
  /** What was chosen for the models that do not speak now, by their ids. */
  readonly byModel: Readonly<Record<string, string>>;
  /** Ids of voices that spoke, the latest first. */
  readonly recent: readonly string[];
}

const RECENT = 9;

export const useVoiceChoice = create<ChoiceState>()(
  persist((): ChoiceState => ({ chosen: "", byModel: {}, recent: [] }), { name: "sonant-voice" }),
);

/** Lets another model speak; its voices are read, and the one that is named speaks if the model has it. */
export function chooseModel(id: string, voice?: string): void {
  changeSettings({ model: id });
  if (voice !== undefined) {
    useVoiceChoice.setState(({ byModel }) => ({ byModel: { ...byModel, [id]: voice } }));
    if (useVoices.getState().model === id) chooseVoice(voice);
  }
  void loadVoices();
}

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

let reading = 0;

/**
 * Reads the list of the chosen model, again if it is known already. A chosen voice that is gone gives way to the one that was
 * last used with the model, and else to its default.
 */
export async function loadVoices(): Promise<void> {
  reading += 1;
  const own = reading;
  useVoices.setState({ load: "loading", trouble: undefined });
  await knowModels();
  if (own !== reading) return;
  const model = requestedModel();
  const before = useVoices.getState();
  // Voices of another model are no longer offered while those of this one are on their way.
  const voices = model === before.model ? before.voices : [];
  useVoices.setState({ voices });
  try {
    const voices = await fetchVoices(model);
    if (own !== reading) return;
    useVoices.setState({ load: "ready", voices, model });
    if (model !== undefined && before.model !== undefined && model !== before.model) {
      useVoiceChoice.setState(({ byModel, chosen }) => ({
        byModel: { ...byModel, [before.model ?? ""]: chosen },
        chosen: byModel[model] ?? chosen,
      }));
    }
    keepChoice(voices);
  } catch (error) {
    if (own !== reading) return;
    useVoices.setState({ load: "failed", model, trouble: troubleOf(error) });
  }
}

function keepChoice(voices: readonly Voice[]): void {
  const { chosen } = useVoiceChoice.getState();
  if (voices.some(({ id }) => id === chosen)) return;
  const preferred = chosenModel()?.defaultVoice;
  const byDefault = voices.find(({ id }) => id === preferred);
  const other = byDefault ?? voices.find(({ isDefault }) => isDefault) ?? voices[0];
  chooseVoice(other?.id ?? "");
}

/** The voice with an id. */
export function voiceById(id: string): Voice | undefined {
  return useVoices.getState().voices.find((voice) => voice.id === id);
}
