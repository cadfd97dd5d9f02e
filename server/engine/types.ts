/** What the engine takes and gives. Contracts only. */

/** How codes are drawn (model specification, section 5). Absent fields take the model family's defaults. */
export interface SamplingOptions {
  /** False: the most likely code, always. */
  readonly doSample?: boolean;
  readonly textTemperature?: number;
  readonly textTopP?: number;
  readonly textTopK?: number;
  readonly audioTemperature?: number;
  readonly audioTopP?: number;
  /** 0: off. */
  readonly audioTopK?: number;
  readonly repetitionPenalty?: number;
  /** 0 to 2^53 - 1, or a bigint below 2^64. The same seed and prompt give the same codes. */
  readonly seed?: number | bigint;
  /** Index of the text segment; each has random numbers of its own. */
  readonly segment?: number;
  /** Codebooks to draw; 0 or absent: all. */
  readonly nVq?: number;
}

/**
 * How frames are gathered: the first chunk leaves after `firstFrames`; each later one is `growth` times as long as the
 * one before, up to `maxFrames`. Everything 1, the default: every frame leaves at once.
 */
export interface ChunkPolicy {
  readonly firstFrames?: number;
  readonly growth?: number;
  readonly maxFrames?: number;
  /** No frame behind the first chunk waits longer than this for company, in milliseconds; 0 or absent: as long as it takes. */
  readonly holdMs?: number;
}

/** One generation. Rows are [n][1 + nVq]: a text id and the codes beside it. */
export interface GenerateOptions {
  /** Names the shared prefix (a voice); equal keys need equal rows. Absent: nothing is shared. */
  readonly prefixKey?: string;
  readonly prefixRows?: Int32Array;
  /** At least one row. */
  readonly textRows: Int32Array;
  readonly sampling?: SamplingOptions;
  /** Frames after which generation is cut (`reason` "length"). */
  readonly maxFrames?: number;
  /** Frames the reader may lag behind before generation pauses. */
  readonly bufferFrames?: number;
  /** Audio that the listener has to hear already, in milliseconds: who has least goes first where not all can be served. */
  readonly leadMs?: number;
  /** Audio that may be held back on the way to the listener, at most, in milliseconds. */
  readonly reserveMs?: number;
  readonly chunks?: ChunkPolicy;
  /** Deliver codes with each chunk. */
  readonly wantCodes?: boolean;
  /** False: codes only; nothing is decoded. */
  readonly wantAudio?: boolean;
  /** Of the audio: 1 is the mean of two; absent: what the codec makes. */
  readonly channels?: 1 | 2;
  /** Deliver the audio as 16-bit integers instead. */
  readonly pcm16?: boolean;
}

export interface AudioChunk {
  /** Interleaved samples, frames * frameSamples * channels of them; not clipped. None where integers were asked for. */
  readonly pcm: Float32Array;
  /** The samples as `toIntegers` gives them, when they were asked for. */
  readonly pcm16?: Int16Array;
  readonly frames: number;
  /** Index of the first frame within its generation. */
  readonly firstFrame: number;
  readonly sampleRate: number;
  readonly channels: number;
  /** [frames][codebooks drawn], when they were asked for. */
  readonly codes?: Int32Array;
}

/** Times in milliseconds. */
export interface GenerateStats {
  readonly queueMs: number;
  readonly prefillMs: number;
  readonly firstAudioMs: number;
  readonly frameMs: number;
  readonly codecMs: number;
  /** The part of `codecMs` that was spent before the first audio. */
  readonly firstCodecMs: number;
  readonly totalMs: number;
  readonly pausedMs: number;
  /** What a listener in real time waited for after his first chunk. */
  readonly starvedMs: number;
  /** From the call of `cancel` until the engine had released everything; 0 if it was not cancelled. */
  readonly cancelMs: number;
  readonly promptRows: number;
  readonly cachedRows: number;
  readonly frames: number;
  /** Of them, generated after `cancel` was called; counted up to 4. */
  readonly lateFrames: number;
}

/** How a generation ended: the model stopped, it was cut at maxFrames, or nobody wanted the rest, or it failed. */
export type FinishReason = "stop" | "length" | "cancelled" | "error";

export interface Finished {
  readonly reason: FinishReason;
  readonly stats: GenerateStats;
}

export interface EngineLimits {
  /** Generations side by side; more wait in line. 0 or absent: what suits the device. */
  readonly maxSequences?: number;
  /** More that may hold state beside them, for callers who count those paused for their readers apart. */
  readonly maxParked?: number;
  /** Further requests are refused with `overloaded`. */
  readonly maxWaiting?: number;
  /** Prompt rows computed between two frames of the others. 0 or absent: what suits the device. */
  readonly prefillSliceRows?: number;
  readonly voiceCacheBytes?: number;
  /** Reference frames encoded between two frames of the others. 0 or absent: what suits the device. */
  readonly encodeSliceFrames?: number;
}

export interface LoadOptions {
  /** Folder of the language model: config.json, and weights in any layout that convert reads; absent: none is loaded. */
  readonly lmFolder?: string;
  readonly codecFolder?: string;
  /** Absent: "auto", the first GPU if there is one that can be used. Several GPUs are told apart by number. */
  readonly device?: "auto" | "cpu" | "cuda" | `cuda:${number}`;
  /** Absent: int8 on the CPU, bf16 on a GPU. A GPU has no int8, so "auto" with int8 is the CPU. */
  readonly precision?: "int8" | "fp32" | "bf16";
  /** 0 or absent: as many as suit the machine. */
  readonly threads?: number;
  /** Forces an instruction set (tests, benchmarks): "avx512", "avx2", "neon" or "generic". */
  readonly isa?: string;
  readonly limits?: EngineLimits;
}

export interface LmInfo {
  readonly nVq: number;
  readonly vocabSize: number;
  readonly codebookSizes: Int32Array;
  readonly maxPositions: number;
  readonly audioPadId: number;
  readonly padId: number;
  readonly imStartId: number;
  readonly imEndId: number;
  readonly audioStartId: number;
  readonly audioEndId: number;
  readonly userSlotId: number;
  readonly assistantSlotId: number;
}

export interface CodecInfo {
  readonly sampleRate: number;
  readonly channels: number;
  /** Samples of one channel in a frame. */
  readonly frameSamples: number;
  readonly nCodebooks: number;
  readonly codebookSize: number;
}

export interface EngineInfo {
  /** "cpu" or "cuda". */
  readonly device: string;
  /** For people, such as "AVX-512 VNNI, 2 threads". */
  readonly description: string;
  /** A sentence that says why "auto" went past the GPU; null where it took one or no CUDA backend was built. */
  readonly note: string | null;
  readonly precision: "int8" | "fp32" | "bf16";
  readonly threads: number;
  readonly weightBytes: number;
  /** Those in force. Of several engines: `maxSequences` of all together, the rest of each. */
  readonly limits: Required<EngineLimits>;
  /** Null when its folder was not given. */
  readonly lm: LmInfo | null;
  readonly codec: CodecInfo | null;
}

/** Totals since the engine was loaded, and what is going on now. Times in milliseconds over the last 512 steps. */
export interface EngineStats {
  readonly live: number;
  readonly waiting: number;
  /** Least audio that a listener who reads has to hear; 0 if there is none. */
  readonly leadMsMin: number;
  /** Chunks that came more than 100 ms after their listener had run dry. */
  readonly underruns: number;
  /** Frames that generations ahead of their listeners put off for others that were not. */
  readonly yields: number;
  /** What a tick costs, learned from the last ones: this much, and so much more for each generation in it. */
  readonly tickFixedMs: number;
  readonly tickSequenceMs: number;
  /** What prompts and recordings took beside, for each frame that was made. */
  readonly tickPromptMs: number;
  readonly submitted: number;
  readonly finished: number;
  readonly cancelled: number;
  readonly failed: number;
  readonly refused: number;
  readonly frames: number;
  readonly prefillRows: number;
  readonly steps: number;
  readonly stepMsP50: number;
  readonly stepMsP95: number;
  readonly codecMsP50: number;
  /** From the call of `cancel` to the release, over the last 512 that were cancelled, and the longest ever. */
  readonly cancelMsP50: number;
  readonly cancelMsP99: number;
  readonly cancelMsMax: number;
  readonly voiceCacheHits: number;
  readonly voiceCacheMisses: number;
  readonly voiceCacheEvictions: number;
  readonly voiceCacheBytes: number;
  readonly voiceCacheEntries: number;
  readonly sequenceBytes: number;
  readonly weightBytes: number;
}
