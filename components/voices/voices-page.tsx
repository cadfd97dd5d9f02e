/** The voices page: what there is, and how to add to it. */
"use client";
import { useEffect } from "react";
import { sharedPlayer } from "../audio/player.ts";
import { useStrings } from "../i18n/provider.tsx";
import { stopAudition } from "../playground/audition.ts";
import { ModelSelect } from "../playground/model-select.tsx";
import { useServer } from "../store/server.ts";
import { loadVoices, useVoices } from "../store/voices.ts";
import { acceptFile } from "./accept-file.ts";
import { AddPanel } from "./add-panel.tsx";
import { useBeginnings } from "./beginnings.ts";
import { FileDrop } from "./file-drop.tsx";
import { Library } from "./library.tsx";
import { stopListening } from "./listening.ts";
import { cancelRecording } from "./recording.ts";

export function VoicesPage() {
  const words = useStrings("voices");
  const beginnings = useBeginnings();
  const isThere = useServer(({ state }) => state !== "offline" && state !== "connecting");

  useEffect(() => {
    const { load } = useVoices.getState();
    if (load === "idle" || (isThere && load === "failed")) void loadVoices();
  }, [isThere]);
  useEffect(() => {
    // The first press should not pay for loading the worklet.
    void sharedPlayer()
      .prepare()
      .catch(() => undefined);
    return () => {
      cancelRecording();
      stopListening();
      stopAudition();
    };
  }, []);

  return (
    <div className="grid gap-6 xl:grid-cols-[minmax(0,1fr)_34rem]">
      <div className="grid min-w-0 content-start gap-5">
        <div>
          <h1 className="text-xl font-semibold tracking-tight">{words.title}</h1>
          <p className="text-sm text-muted">{words.about}</p>
        </div>
        <div className="max-w-sm empty:hidden">
          <ModelSelect />
        </div>
        <Library />
      </div>
      <AddPanel />
      <FileDrop onFile={(file) => acceptFile(file, beginnings)} />
    </div>
  );
}
