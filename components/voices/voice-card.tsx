/** One voice: what is known of it, listening, speaking with it, and for one's own everything else. */
"use client";
import { clsx } from "clsx";
import { AudioLines, Download, Mic, Pencil, Square, Trash2, Volume2 } from "lucide-react";
import dynamic from "next/dynamic";
import Link from "next/link";
import { type ReactNode, useState } from "react";
import { fill } from "../i18n/format.ts";
import { useLocale, useStrings } from "../i18n/provider.tsx";
import { audition, stopAudition, useAudition } from "../playground/audition.ts";
import { PitchPrint } from "../playground/pitch-print.tsx";
import { chooseVoice, useVoiceChoice, type Voice } from "../store/voices.ts";
import { Badge } from "../ui/badge.tsx";
import { Button } from "../ui/button.tsx";
import { Problem } from "../ui/problem.tsx";
import { languageName } from "./languages.ts";
import { listenToRecording, stopListening, useListening } from "./listening.ts";
import { useTask } from "./task.ts";
import { exportVoice } from "./voice-actions.ts";

const EditDialog = dynamic(() => import("./edit-dialog.tsx").then(({ EditDialog }) => EditDialog), {
  ssr: false,
});
const DeleteDialog = dynamic(
  () => import("./delete-dialog.tsx").then(({ DeleteDialog }) => DeleteDialog),
  { ssr: false },
);

export function VoiceCard({ voice }: { readonly voice: Voice }) {
  const words = useStrings("voices").card;
  const isChosen = useVoiceChoice(({ chosen }) => chosen === voice.id);
  const sample = useAudition((state) => state.samples[voice.id]);
  const isPlaying = useAudition((state) => state.playing === voice.id);
  const failed = useAudition(({ trouble }) =>
    trouble?.voice === voice.id ? trouble.trouble : undefined,
  );
  const task = useTask();
  const isMine = voice.kind === "mine";
  return (
    <article
      aria-label={voice.name}
      className={clsx(
        "card flex flex-col gap-3 p-4",
        isChosen && "border-accent! ring-1 ring-accent",
      )}
    >
      <div className="flex items-start justify-between gap-3">
        <div className="grid min-w-0 gap-1">
          <h3 className="break-words font-semibold leading-snug">{voice.name}</h3>
          <div className="flex flex-wrap gap-1">
            <Badge>{isMine ? words.mine : words.preset}</Badge>
            {voice.isDefault && <Badge>{words.default}</Badge>}
            {isChosen && <Badge tone="accent">{words.chosen}</Badge>}
          </div>
        </div>
        <PitchPrint trace={sample?.trace} isLive={isPlaying} />
      </div>
      <p className={clsx("break-words text-sm", voice.description === "" && "text-muted")}>
        {voice.description || words.noDescription}
      </p>
      <Facts voice={voice} pitch={voice.pitchHz ?? sample?.pitch} />
      <div className="mt-auto flex flex-wrap items-center gap-2">
        <ListenButtons voice={voice} onRecording={(work) => void task.run(work)} />
        <Link
          href="/"
          aria-label={fill(words.useVoice, { voice: voice.name })}
          onClick={() => chooseVoice(voice.id)}
          className="inline-flex min-h-7 items-center rounded-lg border border-transparent bg-accent px-2.5 text-xs font-medium text-on-accent hover:bg-accent-strong"
        >
          {words.use}
        </Link>
        {isMine && <OwnerButtons voice={voice} task={task} />}
      </div>
      {failed && (
        <Problem
          trouble={failed}
          onRetry={() => void audition(voice)}
          onDismiss={() => useAudition.setState({ trouble: undefined })}
        />
      )}
      {task.trouble && <Problem trouble={task.trouble} onDismiss={task.dismiss} />}
    </article>
  );
}

function Facts({ voice, pitch }: { readonly voice: Voice; readonly pitch: number | undefined }) {
  const words = useStrings("voices").card;
  const { units } = useStrings("common");
  const locale = useLocale();
  const { language, referenceSeconds, createdAt, consent } = voice;
  const added = new Intl.DateTimeFormat(locale, { dateStyle: "medium" });
  return (
    <dl className="grid grid-cols-[auto_minmax(0,1fr)] gap-x-3 gap-y-1 text-xs">
      {language !== "" && <Fact name={words.language}>{languageName(language, locale)}</Fact>}
      {pitch !== undefined && (
        <Fact name={words.pitch}>
          <span className="figures">{fill(units.hertz, { n: Math.round(pitch) })}</span>
        </Fact>
      )}
      {referenceSeconds !== undefined && (
        <Fact name={words.length}>
          <span className="figures">{fill(units.seconds, { n: referenceSeconds.toFixed(1) })}</span>
        </Fact>
      )}
      {createdAt > 0 && <Fact name={words.added}>{added.format(1000 * createdAt)}</Fact>}
      {consent !== "" && <Fact name={words.consent}>{consent}</Fact>}
    </dl>
  );
}

function Fact({ name, children }: { readonly name: string; readonly children: ReactNode }) {
  return (
    <>
      <dt className="text-muted">{name}</dt>
      <dd className="break-words">{children}</dd>
    </>
  );
}

interface ListenButtonsProps {
  readonly voice: Voice;
  readonly onRecording: (work: () => Promise<void>) => void;
}

/** A sample of how it speaks, and for one's own the recording that it was made from. */
function ListenButtons({ voice, onRecording }: ListenButtonsProps) {
  const words = useStrings("voices").card;
  const isPlaying = useAudition((state) => state.playing === voice.id);
  const isLoading = useAudition((state) => state.loading === voice.id);
  const isHeard = useListening(({ what }) => what === voice.id);
  const isSounding = isPlaying || isLoading;
  const press = () => {
    stopListening();
    if (isSounding) stopAudition();
    else void audition(voice);
  };
  return (
    <>
      <Button
        size="small"
        aria-label={isSounding ? words.stop : fill(words.listenTo, { voice: voice.name })}
        title={isLoading ? words.making : undefined}
        onClick={press}
      >
        {isSounding ? (
          <Square size={13} aria-hidden className={clsx(isLoading && "animate-pulse")} />
        ) : (
          <Volume2 size={14} aria-hidden />
        )}
        {isSounding ? words.stop : words.listen}
      </Button>
      {voice.kind === "mine" && (
        <Button
          size="small"
          aria-label={isHeard ? words.stop : fill(words.recordingOf, { voice: voice.name })}
          onClick={() =>
            isHeard ? stopListening() : onRecording(() => listenToRecording(voice.id))
          }
        >
          {isHeard ? <Square size={13} aria-hidden /> : <Mic size={13} aria-hidden />}
          {isHeard ? words.stop : words.recording}
        </Button>
      )}
      {isLoading && (
        <span role="status" className="sr-only">
          {words.making}
        </span>
      )}
    </>
  );
}

interface OwnerButtonsProps {
  readonly voice: Voice;
  readonly task: ReturnType<typeof useTask>;
}

function OwnerButtons({ voice, task }: OwnerButtonsProps) {
  const words = useStrings("voices").card;
  const [open, setOpen] = useState<"edit" | "delete">();
  const close = () => setOpen(undefined);
  const named = (label: string) => fill(label, { voice: voice.name });
  return (
    <span className="ml-auto flex">
      <Button
        size="icon"
        kind="quiet"
        aria-label={named(words.edit)}
        title={named(words.edit)}
        onClick={() => setOpen("edit")}
      >
        <Pencil size={15} aria-hidden />
      </Button>
      <Button
        size="icon"
        kind="quiet"
        aria-label={named(words.exportVoice)}
        title={named(words.exportVoice)}
        disabled={task.isBusy}
        onClick={() => void task.run(() => exportVoice(voice))}
      >
        {task.isBusy ? (
          <AudioLines size={15} aria-hidden className="animate-pulse" />
        ) : (
          <Download size={15} aria-hidden />
        )}
      </Button>
      <Button
        size="icon"
        kind="quiet"
        aria-label={named(words.remove)}
        title={named(words.remove)}
        onClick={() => setOpen("delete")}
      >
        <Trash2 size={15} aria-hidden />
      </Button>
      {open === "edit" && <EditDialog voice={voice} onClose={close} />}
      {open === "delete" && <DeleteDialog voice={voice} onClose={close} />}
    </span>
  );
}
