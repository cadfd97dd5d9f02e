/**
 * The voice that is being made: from a file or a recording, over trimming and mending, to the upload. One at a time for the
 * page, kept while the visitor looks at other pages. Nothing leaves the browser before `saveDraft`.
 */
"use client";
import { create } from "zustand";
import type { UploadProgress } from "../../server/protocol/client/index.ts";
import { client } from "../api/client.ts";
import { knownLimits, loadLimits } from "../api/limits.ts";
import { type Trouble, troubleOf } from "../api/trouble.ts";
import { decodeFile } from "../audio/decode-file.ts";
import { type Diagnosis, diagnose, type Fix } from "../audio/doctor.ts";
import type { Range } from "../audio/doctor-measure.ts";
import { interleave } from "../audio/pcm.ts";
import { TakeAudio } from "../audio/take-audio.ts";
import { requestedModel } from "../store/models.ts";
import { chooseVoice, loadVoices, useVoices } from "../store/voices.ts";
import type { Beginnings } from "./beginnings.ts";
import { stopListening } from "./listening.ts";
import {
  type Clip,
  type Examined,
  examine,
  fewChannels,
  firstTreatment,
  secondsOf,
  type Treatment,
  uploadFile,
  withFix,
  within,
} from "./treatment.ts";
import { freeName, nameFromFile } from "./voice-names.ts";

/** A recording as it came. */
export interface Source extends Clip {
  readonly origin: "upload" | "recording";
  /** Empty for recordings. */
  readonly fileName: string;
  readonly seconds: number;
  readonly sound: TakeAudio;
  /** Of the whole recording: what the suggestions for trimming come from. */
  readonly whole: Diagnosis;
}

/** What the visitor says of the voice. */
export interface Details {
  readonly name: string;
  /** Two-letter code; empty if not stated. */
  readonly language: string;
  readonly description: string;
  readonly speaker: "me" | "other";
  /** Who speaks, if somebody else does. */
  readonly speakerName: string;
  readonly isAgreed: boolean;
}

interface DraftState {
  readonly phase: "empty" | "reading" | "ready" | "saving" | "saved";
  /** Why the file or recording could not be read. */
  readonly trouble: Trouble | undefined;
  readonly source: Source | undefined;
  readonly treatment: Treatment;
  readonly examined: Examined | undefined;
  /** Whether `examined` is older than `treatment`. */
  readonly isExamining: boolean;
  readonly details: Details;
  readonly progress: UploadProgress | undefined;
  readonly saveTrouble: Trouble | undefined;
  readonly saved: { readonly id: string; readonly name: string } | undefined;
}

const NO_DETAILS: Details = {
  name: "",
  language: "",
  description: "",
  speaker: "me",
  speakerName: "",
  isAgreed: false,
};
const EMPTY: DraftState = {
  phase: "empty",
  trouble: undefined,
  source: undefined,
  treatment: { range: { start: 0, end: 0 }, levels: false, removesOffset: false },
  examined: undefined,
  isExamining: false,
  details: NO_DETAILS,
  progress: undefined,
  saveTrouble: undefined,
  saved: undefined,
};

/** Names may be this long until the server's own limit is known. */
const NAME_CHARS = 128;
const UPLOAD_BYTES = 10 * 2 ** 20;
/** A change is examined when the handles rest for this long. */
const REST_MS = 150;

export const useDraft = create<DraftState>()(() => EMPTY);

let reading = 0;
let timer: ReturnType<typeof setTimeout> | undefined;
let upload: AbortController | undefined;

export const nameChars = () => knownLimits()?.limits.voice_name_chars ?? NAME_CHARS;

/** Starts over with a file. */
export async function readFile(file: File, beginnings: Beginnings): Promise<void> {
  const own = begin();
  try {
    const { planes, sampleRate } = await decodeFile(file);
    if (own === reading) await accept({ planes, sampleRate }, "upload", file.name, beginnings);
  } catch (error) {
    if (own === reading) useDraft.setState({ ...EMPTY, trouble: troubleOf(error) });
  }
}

/** Starts over with what the microphone brought. */
export async function takeRecording(clip: Clip, beginnings: Beginnings): Promise<void> {
  begin();
  await accept(clip, "recording", "", beginnings);
}

function begin(): number {
  stopListening();
  clearTimeout(timer);
  upload?.abort();
  useDraft.setState({ ...EMPTY, phase: "reading" });
  return ++reading;
}

async function accept(
  { planes, sampleRate }: Clip,
  origin: Source["origin"],
  fileName: string,
  { name, language }: Beginnings,
): Promise<void> {
  const own = reading;
  const kept = fewChannels(planes);
  const clip = { planes: kept, sampleRate };
  // Lets the page say that it reads before a long recording keeps it busy.
  await Promise.all([loadLimits(), new Promise((resolve) => setTimeout(resolve, 30))]);
  if (own !== reading) return;
  const limits = knownLimits()?.limits;
  const whole = diagnose(kept, sampleRate, limits);
  const treatment = firstTreatment(clip, whole);
  const { voices } = useVoices.getState();
  const sound = TakeAudio.of(interleave(kept), sampleRate, kept.length === 1 ? 1 : 2);
  const chars = nameChars();
  useDraft.setState({
    phase: "ready",
    source: { ...clip, origin, fileName, seconds: secondsOf(clip), sound, whole },
    treatment,
    examined: examine(clip, treatment, limits),
    details: {
      ...NO_DETAILS,
      name:
        origin === "upload"
          ? nameFromFile(fileName, voices, chars, name)
          : freeName(name, voices, chars),
      language,
    },
  });
}

export function startOver(): void {
  begin();
  useDraft.setState(EMPTY);
}

/** Keeps another stretch; it is examined as soon as the handles rest. */
export function setRange(range: Range): void {
  const { source, treatment } = useDraft.getState();
  if (source === undefined) return;
  setTreatment({ ...treatment, range: within(range, source.seconds) }, REST_MS);
}

export function applyFix(fix: Fix): void {
  const { source, treatment } = useDraft.getState();
  if (source !== undefined) setTreatment(withFix(treatment, fix, source.seconds), 0);
}

/** Takes the repairs back; the stretch stays. */
export function undoRepairs(): void {
  const { treatment } = useDraft.getState();
  setTreatment({ ...treatment, levels: false, removesOffset: false }, 0);
}

function setTreatment(treatment: Treatment, restMs: number): void {
  stopListening();
  useDraft.setState({ treatment, isExamining: true });
  clearTimeout(timer);
  timer = setTimeout(examineNow, restMs);
}

/** Examines what is kept as it is now, if that has not been done yet. */
function examineNow(): void {
  clearTimeout(timer);
  const { source, treatment, isExamining } = useDraft.getState();
  if (source === undefined || !isExamining) return;
  const examined = examine(source, treatment, knownLimits()?.limits);
  useDraft.setState({ examined, isExamining: false });
}

export function changeDetails(change: Partial<Details>): void {
  useDraft.setState(({ details }) => ({
    details: { ...details, ...change },
    saveTrouble: undefined,
  }));
}

/**
 * Uploads the voice, lists it and chooses it. A change of this moment is examined first; what fails is not sent, and the
 * form says why.
 * @param consent who agreed to what, and when
 */
export async function saveDraft(consent: string): Promise<void> {
  examineNow();
  const { source, examined, details } = useDraft.getState();
  if (source === undefined || examined === undefined || examined.diagnosis.grade === "fail") return;
  stopListening();
  const own = reading;
  const controller = new AbortController();
  upload = controller;
  useDraft.setState({ phase: "saving", progress: undefined, saveTrouble: undefined });
  try {
    const maxBytes = knownLimits()?.limits.upload_bytes ?? UPLOAD_BYTES;
    const { sampleRate } = source;
    const file = uploadFile({ planes: examined.planes, sampleRate }, maxBytes);
    const { id, name } = await client().uploadVoice(
      {
        name: details.name.trim(),
        consent,
        audio: { file, filename: "reference.wav" },
        description: details.description.trim() || undefined,
        language: details.language || undefined,
      },
      {
        model: requestedModel(),
        signal: controller.signal,
        onProgress: (progress) => own === reading && useDraft.setState({ progress }),
      },
    );
    await loadVoices();
    if (own !== reading) return;
    chooseVoice(id);
    useDraft.setState({ ...EMPTY, phase: "saved", saved: { id, name } });
  } catch (error) {
    if (own !== reading) return;
    const saveTrouble = controller.signal.aborted ? undefined : troubleOf(error);
    useDraft.setState({ phase: "ready", progress: undefined, saveTrouble });
  }
}

/** Stops the upload; the draft stays as it is. */
export function cancelSave(): void {
  upload?.abort();
}
