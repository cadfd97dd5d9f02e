/**
 * The sound of a trial as it arrives, in any format: pcm and wav are heard while they come, the others when a file of them
 * is complete, since browsers decode whole files only.
 */
import { decodeFile } from "../audio/decode-file.ts";
import { interleave } from "../audio/pcm.ts";
import { sharedPlayer } from "../audio/player.ts";
import { TakeAudio } from "../audio/take-audio.ts";
import { WavReader } from "../audio/wav.ts";

export interface SoundForm {
  readonly format: string;
  /** Hz, of pcm; the other formats say it themselves. */
  readonly sampleRate: number;
  readonly channels: number;
}

const two = (channels: number) => (channels === 1 ? 1 : 2);

export class TrialSound {
  readonly #form: SoundForm;
  #audio: TakeAudio | undefined;
  #wav: WavReader | undefined;
  #parts: Uint8Array[] = [];

  constructor(form: SoundForm) {
    this.#form = form;
  }

  /** Undefined until there is something to be heard. */
  get audio(): TakeAudio | undefined {
    return this.#audio;
  }

  /** The next bytes of the file that arrives. @throws WavError */
  push(bytes: Uint8Array): void {
    const { format, sampleRate, channels } = this.#form;
    if (format === "pcm") this.#take({ sampleRate, channels: two(channels) }).push(bytes);
    else if (format === "wav") this.#pushWav(bytes);
    else this.#parts.push(bytes.slice());
  }

  /** The file is complete; what follows is another one. @throws DecodeError where this browser cannot read it */
  async endFile(): Promise<void> {
    this.#wav = undefined;
    if (this.#parts.length === 0) return;
    const file = new Blob(this.#parts as BlobPart[]);
    this.#parts = [];
    const { planes, sampleRate } = await decodeFile(file);
    const channels = two(planes.length);
    this.#take({ sampleRate, channels, format: "float32" }).push(interleave(planes));
  }

  /** No more will come. */
  finish(): void {
    this.#audio?.finish();
  }

  #pushWav(bytes: Uint8Array): void {
    this.#wav ??= new WavReader();
    const sound = this.#wav.push(bytes);
    if (this.#wav.shape !== undefined && sound.length > 0) this.#take(this.#wav.shape).push(sound);
  }

  /** The take that the sound goes to; it is heard from its first sample on. */
  #take(shape: ConstructorParameters<typeof TakeAudio>[0]): TakeAudio {
    if (this.#audio === undefined) {
      this.#audio = new TakeAudio(shape);
      sharedPlayer().play(this.#audio);
    }
    return this.#audio;
  }
}
