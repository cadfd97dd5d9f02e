/** Where a recording comes from: a file, or the microphone. */
"use client";
import { Mic, Square, Upload } from "lucide-react";
import { useEffect, useRef } from "react";
import { useLimits } from "../api/limits.ts";
import { announce } from "../frame/announcer.tsx";
import { fill } from "../i18n/format.ts";
import { useStrings } from "../i18n/provider.tsx";
import { Button } from "../ui/button.tsx";
import { Problem } from "../ui/problem.tsx";
import { acceptFile } from "./accept-file.ts";
import { useBeginnings } from "./beginnings.ts";
import { startOver, useDraft } from "./draft.ts";
import { FileButton } from "./file-button.tsx";
import { LevelMeter } from "./level-meter.tsx";
import { cancelRecording, startRecording, stopRecording, useRecording } from "./recording.ts";

export const AUDIO_FILES = "audio/*,.wav,.mp3,.flac,.ogg,.opus,.m4a,.webm";
/** Until the server's own limit is known. */
export const DEFAULT_MAX_SECONDS = 30;
/** From here on a recording is as good as a longer one. */
const ENOUGH_SECONDS = 8;
const FILE_TROUBLES = ["empty", "too_large", "unreadable", "too_long", "no_sound"] as const;

export function Sources() {
  const words = useStrings("voices");
  const isReading = useDraft((state) => state.phase === "reading");
  const isBusy = useRecording((state) => state.phase !== "idle");
  if (isReading) {
    return (
      <p role="status" className="animate-pulse rounded-lg bg-sunken px-3 py-6 text-sm">
        {words.add.reading}
      </p>
    );
  }
  return (
    <div className="grid gap-4">
      {!isBusy && <FromFile />}
      <FromMicrophone />
    </div>
  );
}

function FromFile() {
  const words = useStrings("voices");
  const beginnings = useBeginnings();
  const trouble = useDraft((state) => state.trouble);
  const known = FILE_TROUBLES.find((code) => code === trouble?.code);
  return (
    <div className="grid gap-3 rounded-xl border border-dashed border-line-strong p-4">
      <div>
        <h3 className="text-sm font-semibold">{words.add.uploadTitle}</h3>
        <p className="text-sm text-muted">{words.add.uploadText}</p>
      </div>
      <div className="flex flex-wrap items-center gap-3">
        <FileButton
          kind="primary"
          accept={AUDIO_FILES}
          onFile={(file) => acceptFile(file, beginnings)}
        >
          <Upload size={15} aria-hidden />
          {words.add.choose}
        </FileButton>
        <span className="text-xs text-muted">{words.add.formats}</span>
      </div>
      {trouble && (
        <Problem
          trouble={
            known ? { code: known, message: words.file[known], hint: words.file.next } : trouble
          }
          onDismiss={startOver}
        />
      )}
    </div>
  );
}

function FromMicrophone() {
  const words = useStrings("voices").add;
  const { say } = useStrings("voices");
  const { actions } = useStrings("common");
  const beginnings = useBeginnings();
  const limits = useLimits()?.limits;
  const { phase } = useRecording();
  const maxSeconds = limits?.reference_max_seconds ?? DEFAULT_MAX_SECONDS;
  const record = () => void startRecording(maxSeconds, beginnings);
  useEffect(() => {
    if (phase === "recording") announce(say.recording);
  }, [phase, say]);
  // One button that stays where it is, so that the focus does as well.
  const main = {
    idle: { press: record, label: words.start },
    asking: { press: cancelRecording, label: actions.cancel },
    countdown: { press: cancelRecording, label: actions.cancel },
    recording: { press: stopRecording, label: words.stop },
  }[phase];
  return (
    <div className="grid gap-3 rounded-xl border border-line p-4">
      <div className="grid gap-1">
        <h3 className="text-sm font-semibold">{words.recordTitle}</h3>
        <p className="text-sm text-muted">{words.recordText}</p>
      </div>
      <blockquote className="border-l-2 border-accent pl-3 text-base leading-relaxed">
        {words.script}
      </blockquote>
      {phase !== "idle" && <Progress maxSeconds={maxSeconds} />}
      <div className="flex flex-wrap gap-2">
        <Button kind={phase === "recording" ? "primary" : "plain"} onClick={main.press}>
          {phase === "idle" && <Mic size={15} aria-hidden />}
          {phase === "recording" && <Square size={14} aria-hidden />}
          {main.label}
        </Button>
        {phase === "recording" && (
          <Button kind="quiet" onClick={cancelRecording}>
            {actions.cancel}
          </Button>
        )}
      </div>
      <MicrophoneTrouble onRetry={record} />
    </div>
  );
}

function Progress({ maxSeconds }: { readonly maxSeconds: number }) {
  const words = useStrings("voices").add;
  const { phase, secondsToGo, seconds, peak, isClipped } = useRecording();
  if (phase === "asking") return <p role="status">{words.asking}</p>;
  const isRecording = phase === "recording";
  return (
    <div className="grid gap-2">
      <p className="figures text-lg font-semibold" data-testid="recording-state">
        {isRecording
          ? fill(words.recording, { seconds: seconds.toFixed(1) })
          : fill(words.getReady, { seconds: secondsToGo })}
      </p>
      <LevelMeter peak={peak} isClipped={isClipped} />
      {isRecording && (
        <p className="text-xs text-muted">
          {seconds >= ENOUGH_SECONDS ? words.enough : fill(words.limit, { seconds: maxSeconds })}
        </p>
      )}
    </div>
  );
}

function MicrophoneTrouble({ onRetry }: { readonly onRetry: () => void }) {
  const words = useStrings("voices").microphone;
  const trouble = useRecording((state) => state.trouble);
  const place = useRef<HTMLDivElement>(null);
  useEffect(() => {
    // On a phone it comes up below the window.
    if (trouble !== undefined) place.current?.scrollIntoView({ block: "nearest" });
  }, [trouble]);
  if (trouble === undefined || trouble.code === "cancelled") return null;
  const { code, message } = trouble;
  const isKnown = code !== "already_recording" && code !== "not_recording" && code !== "unknown";
  const shown = isKnown
    ? { code, message: words[code], hint: words[`${code}Next`] }
    : { code, message: `${words.unknown} ${message}`, hint: words.unknownNext };
  return (
    <div ref={place}>
      <Problem trouble={shown} onRetry={onRetry} onDismiss={cancelRecording} />
    </div>
  );
}
