/** Which voices the requests ask for, in turn. */
"use client";
import { useEffect } from "react";
import { useStrings } from "../i18n/provider.tsx";
import { ModelSelect } from "../playground/model-select.tsx";
import { useServer } from "../store/server.ts";
import { loadVoices, useVoices } from "../store/voices.ts";
import { Problem } from "../ui/problem.tsx";
import { changeForm, useForm } from "./form-store.ts";

export function VoiceChoice() {
  const words = useStrings("stress").setup;
  const { states } = useStrings("common");
  const chosen = useForm((form) => form.voices);
  const { load, voices, trouble } = useVoices();
  const isThere = useServer(({ state }) => state !== "offline" && state !== "connecting");
  useEffect(() => {
    const { load } = useVoices.getState();
    if (load === "idle" || (isThere && load === "failed")) void loadVoices();
  }, [isThere]);
  useEffect(() => {
    if (load !== "ready") return;
    // Voices that were deleted meanwhile.
    const kept = chosen.filter((id) => voices.some((voice) => voice.id === id));
    if (kept.length < chosen.length) changeForm({ voices: kept });
  }, [load, voices, chosen]);
  const toggle = (id: string, isOn: boolean) =>
    changeForm({ voices: isOn ? [...chosen, id] : chosen.filter((other) => other !== id) });
  const names = chosen.map((id) => voices.find((voice) => voice.id === id)?.name ?? id);
  return (
    <div className="grid gap-3">
      <ModelSelect />
      <details className="rounded-lg border border-line">
        <summary className="min-h-9 px-3 py-2 text-sm">
          <span className="font-medium">{words.voices}: </span>
          <span className="text-muted">
            {names.length === 0 ? words.defaultVoice : names.join(", ")}
          </span>
        </summary>
        <fieldset className="grid min-w-0 gap-1 px-3 pb-3">
          <legend className="sr-only">{words.voices}</legend>
          {load === "failed" && trouble && (
            <Problem trouble={trouble} onRetry={() => void loadVoices()} />
          )}
          {voices.length === 0 && load === "loading" && (
            <p className="text-xs text-muted">{states.loading}</p>
          )}
          <div className="grid grid-cols-2 gap-x-3">
            {voices.map(({ id, name }) => (
              <label key={id} className="flex min-h-7 items-center gap-2 text-sm">
                <input
                  type="checkbox"
                  checked={chosen.includes(id)}
                  onChange={(event) => toggle(id, event.target.checked)}
                  className="size-4 shrink-0 accent-accent"
                />
                <span className="min-w-0 truncate">{name}</span>
              </label>
            ))}
          </div>
          <p className="text-xs text-muted">{words.voicesAbout}</p>
        </fieldset>
      </details>
    </div>
  );
}
