/** The page that a designer keeps open all day: voices, script and takes, and what was measured. */
"use client";
import { useEffect, useState } from "react";
import { inWords } from "../api/trouble.ts";
import { sharedPlayer } from "../audio/player.ts";
import { announce } from "../frame/announcer.tsx";
import { fill } from "../i18n/format.ts";
import { useStrings } from "../i18n/provider.tsx";
import { chosenModel, requestedModel, useHasModels, useModels } from "../store/models.ts";
import { useServer } from "../store/server.ts";
import { changeSettings } from "../store/settings.ts";
import { useTakes } from "../store/takes.ts";
import {
  chooseModel,
  chooseVoice,
  loadVoices,
  useVoiceChoice,
  useVoices,
  voiceById,
} from "../store/voices.ts";
import { Extras } from "./extras.tsx";
import { FramesPanel } from "./frames-panel.tsx";
import { Gauges } from "./gauges.tsx";
import { usePlaygroundKeys } from "./keys.ts";
import { ModelPicker } from "./model-picker.tsx";
import { refreshOutput } from "./output.ts";
import { Script } from "./script.tsx";
import { Sentences } from "./sentences.tsx";
import { type SharedSetup, setupOf } from "./share.ts";
import { TakesList } from "./takes-list.tsx";
import { Transport } from "./transport.tsx";
import { VoiceDrop } from "./voice-drop.tsx";
import { VoicesRail } from "./voices-rail.tsx";
import { Waveform } from "./waveform.tsx";

export function Playground() {
  const words = useStrings("playground");
  const note = useSharedLink();
  usePlaygroundKeys();
  useProgressAnnounced();
  useVoicesOnceReady();
  useEffect(() => {
    // The first click should not pay for loading the worklet.
    void sharedPlayer()
      .prepare()
      .then(refreshOutput, () => undefined);
  }, []);

  return (
    <div className="grid grid-cols-[minmax(0,1fr)] gap-5 lg:grid-cols-[17rem_minmax(0,1fr)] lg:grid-rows-[auto_auto_1fr] xl:grid-cols-[17rem_minmax(0,1fr)_17rem] xl:grid-rows-[auto_1fr]">
      <h1 className="sr-only">{words.title}</h1>
      <div className="grid min-w-0 grid-cols-[minmax(0,1fr)] content-start gap-4 lg:col-start-2 lg:row-start-1">
        {note !== "" && (
          <p role="status" className="rounded-lg bg-accent-soft px-3 py-2 text-sm">
            {note}
          </p>
        )}
        <VoiceDrop />
        <section aria-label={words.script.title} className="grid gap-3">
          <Script />
          <Transport />
        </section>
        <Extras />
      </div>
      <div className="lg:col-start-1 lg:row-span-3 lg:row-start-1 xl:row-span-2">
        <ModelPicker />
        <VoicesRail />
      </div>
      <div className="grid min-w-0 grid-cols-[minmax(0,1fr)] content-start gap-4 lg:col-start-2 lg:row-start-2">
        <Sentences />
        <Waveform />
        <TakesList />
        <FramesPanel />
      </div>
      <div className="lg:col-start-2 lg:row-start-3 xl:col-start-3 xl:row-span-2 xl:row-start-1">
        <Gauges />
      </div>
    </div>
  );
}

/** The list is read when the page opens, again when the server has come back, and when its models have become known. */
function useVoicesOnceReady(): void {
  const isThere = useServer(({ state }) => state !== "offline" && state !== "connecting");
  const hasModels = useHasModels();
  useEffect(() => {
    const { load, model } = useVoices.getState();
    const isOther = hasModels && model !== requestedModel();
    if (load === "idle" || (isThere && load === "failed") || isOther) void loadVoices();
  }, [isThere, hasModels]);
}

/** Restores the set-up of a link, once, and says so. */
function useSharedLink(): string {
  const words = useStrings("playground");
  const load = useVoices((state) => state.load);
  const models = useModels((state) => state.models);
  const [shared, setShared] = useState<SharedSetup | "broken">();
  useEffect(() => {
    try {
      const setup = setupOf(location.hash);
      if (setup === undefined) return;
      const { voice, model, ...rest } = setup;
      changeSettings({ ...rest, seedLocked: true });
      if (voice !== "") chooseVoice(voice);
      if (model !== undefined) chooseModel(model, voice);
      setShared(setup);
    } catch {
      setShared("broken");
    }
    history.replaceState(null, "", location.pathname);
  }, []);
  if (shared === undefined) return "";
  if (shared === "broken") return words.share.broken;
  const { model } = shared;
  if (model !== undefined && models.length > 0 && !models.some(({ id }) => id === model)) {
    const other = chosenModel()?.name ?? "";
    return fill(words.models.gone, { model, other });
  }
  const isThere = load !== "ready" || voiceById(shared.voice) !== undefined;
  const { chosen } = useVoiceChoice.getState();
  return isThere
    ? words.share.restored
    : fill(words.rail.gone, { voice: shared.voice, other: voiceById(chosen)?.name ?? chosen });
}

/** Reads out what happens to the latest take. */
function useProgressAnnounced(): void {
  const { say } = useStrings("playground");
  const troubles = useStrings("troubles");
  const take = useTakes(({ takes }) => takes[0]);
  const state = take?.state;
  const hasSound = take?.ttfpMs !== undefined;
  // biome-ignore lint/correctness/useExhaustiveDependencies: only turns of the take are read out, not each chunk
  useEffect(() => {
    if (take === undefined || Date.now() - take.createdAt > 3_600_000) return;
    if (state === "queued") announce(fill(say.queued, { place: take.queue?.place ?? 1 }));
    else if (state === "failed") {
      const message = take.trouble === undefined ? "" : inWords(take.trouble, troubles).message;
      announce(fill(say.failed, { message }));
    } else if (state === "stopped") announce(say.stopped);
    else if (state === "done")
      announce(fill(say.done, { seconds: (take.durationMs / 1000).toFixed(1) }));
    else if (hasSound) announce(fill(say.firstSound, { ms: Math.round(take.ttfpMs ?? 0) }));
    else if (state === "generating") announce(say.generating);
  }, [take?.id, state, hasSound]);
}
