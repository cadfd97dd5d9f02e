/** Adding a voice, from choosing where the recording comes from to the moment at which it can speak. */
"use client";
import { Check, Volume2 } from "lucide-react";
import Link from "next/link";
import { useEffect, useRef } from "react";
import { announce } from "../frame/announcer.tsx";
import { fill } from "../i18n/format.ts";
import { useStrings } from "../i18n/provider.tsx";
import { audition } from "../playground/audition.ts";
import { chooseVoice, voiceById } from "../store/voices.ts";
import { Button } from "../ui/button.tsx";
import { DetailsForm } from "./details-form.tsx";
import { Doctor } from "./doctor.tsx";
import { startOver, useDraft } from "./draft.ts";
import { Sources } from "./sources.tsx";
import { Trim } from "./trim.tsx";

export function AddPanel() {
  const words = useStrings("voices");
  const phase = useDraft((state) => state.phase);
  const title = useRef<HTMLHeadingElement>(null);
  const again = () => {
    startOver();
    // The step that the button belonged to is gone.
    title.current?.focus();
  };
  const isWorking = phase === "ready" || phase === "saving";
  useEffect(() => {
    if (phase === "ready") announce(words.say.ready);
    if (phase === "saved") announce(words.say.saved);
  }, [phase, words]);
  return (
    <section
      id="add"
      aria-labelledby="add-title"
      className="card grid min-w-0 scroll-mt-24 content-start gap-4 self-start p-4 sm:p-5"
    >
      <div>
        <h2
          id="add-title"
          ref={title}
          tabIndex={-1}
          className="scroll-mt-28 text-base font-semibold outline-none"
        >
          {words.add.title}
        </h2>
        {!isWorking && <p className="text-sm text-muted">{words.add.about}</p>}
      </div>
      {(phase === "empty" || phase === "reading") && <Sources />}
      {isWorking && <Workbench onAgain={again} />}
      {phase === "saved" && <Saved onAgain={again} />}
    </section>
  );
}

/** The heading of a step takes the focus, since what had it is gone. */
function useFocus<T extends HTMLElement>() {
  const element = useRef<T>(null);
  useEffect(() => element.current?.focus(), []);
  return element;
}

interface StepProps {
  readonly onAgain: () => void;
}

function Workbench({ onAgain }: StepProps) {
  const { add } = useStrings("voices");
  const source = useDraft((state) => state.source);
  const isSaving = useDraft((state) => state.phase === "saving");
  const heading = useFocus<HTMLHeadingElement>();
  if (source === undefined) return null;
  return (
    <>
      <div className="flex items-center justify-between gap-3">
        <h3
          ref={heading}
          tabIndex={-1}
          className="min-w-0 break-words text-sm font-medium outline-none"
        >
          {source.fileName || add.fromRecording}{" "}
          <span className="figures font-normal text-muted">
            {fill(add.length, { seconds: source.seconds.toFixed(1) })}
          </span>
        </h3>
        <Button size="small" kind="quiet" onClick={onAgain} disabled={isSaving}>
          {add.again}
        </Button>
      </div>
      <Trim source={source} />
      <Doctor source={source} />
      <DetailsForm />
    </>
  );
}

function Saved({ onAgain }: StepProps) {
  const words = useStrings("voices").saved;
  const saved = useDraft((state) => state.saved);
  const heading = useFocus<HTMLHeadingElement>();
  if (saved === undefined) return null;
  const voice = voiceById(saved.id);
  return (
    <div className="grid gap-4">
      <h3
        ref={heading}
        tabIndex={-1}
        className="flex items-start gap-2 break-words font-medium outline-none"
      >
        <Check size={20} aria-hidden className="shrink-0 text-good" />
        {fill(words.title, { voice: saved.name })}
      </h3>
      <div className="flex flex-wrap gap-2">
        <Link
          href="/"
          onClick={() => chooseVoice(saved.id)}
          className="inline-flex min-h-9 items-center rounded-lg border border-transparent bg-accent px-3.5 text-sm font-medium text-on-accent hover:bg-accent-strong"
        >
          {words.speak}
        </Link>
        {voice && (
          <Button onClick={() => void audition(voice)}>
            <Volume2 size={15} aria-hidden />
            {words.listen}
          </Button>
        )}
        <Button kind="quiet" onClick={onAgain}>
          {words.another}
        </Button>
      </div>
    </div>
  );
}
