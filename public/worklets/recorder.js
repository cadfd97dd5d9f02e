/**
 * The recorder's end in the audio thread: hands every sample of the microphone to the page, unchanged, in blocks of 43 ms
 * at 48 kHz. Makes no sound.
 */

/**
 * @typedef {object} WorkletScope
 * @property {new () => { readonly port: MessagePort }} AudioWorkletProcessor
 * @property {(name: string, processor: unknown) => void} registerProcessor
 */

const scope = /** @type {WorkletScope} */ (/** @type {unknown} */ (globalThis));

const BLOCK_FRAMES = 2048;

class Recorder extends scope.AudioWorkletProcessor {
  #channels;
  #planes;
  #filled = 0;
  #isDone = false;

  /** @param {{ processorOptions: { channels: 1 | 2 } }} options */
  constructor(options) {
    super();
    this.#channels = options.processorOptions.channels;
    this.#planes = this.#emptyPlanes();
    this.port.onmessage = () => {
      this.#flush();
      this.#isDone = true;
      this.port.postMessage({ type: "done" });
    };
  }

  /** @param {Float32Array[][]} inputs */
  process(inputs) {
    if (this.#isDone) return false;
    const input = inputs[0] ?? [];
    // Before the microphone delivers, the input has no channels.
    const frames = input[0]?.length ?? 0;
    if (frames === 0) return true;
    for (const [channel, plane] of this.#planes.entries()) {
      plane.set(input[channel] ?? input[0] ?? [], this.#filled);
    }
    this.#filled += frames;
    if (this.#filled + frames > BLOCK_FRAMES) this.#flush();
    return true;
  }

  #emptyPlanes() {
    return Array.from({ length: this.#channels }, () => new Float32Array(BLOCK_FRAMES));
  }

  #flush() {
    if (this.#filled === 0) return;
    const planes = this.#planes.map((plane) => plane.slice(0, this.#filled));
    const transfer = planes.map((plane) => plane.buffer);
    this.port.postMessage({ type: "block", planes }, transfer);
    this.#filled = 0;
  }
}

scope.registerProcessor("sonant-recorder", Recorder);
