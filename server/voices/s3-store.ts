/**
 * Voices in a bucket of an object service, for several servers that share them. Expects of the service that what was
 * written is read and listed at once, and that an object is replaced in one instant; where it can also write only where
 * nothing is (If-None-Match), changes of two servers at the same voice cannot overwrite each other.
 *
 *   <prefix>details/<id>.<revision>.json   what is known of a voice; the voice is there as soon as this is
 *   <prefix>files/<id>/sample, codes-*     written before it, and never changed
 *
 * Two servers that store the same name at the same time store two voices, each whole: the one with the later time of
 * upload (then the larger id) has the name everywhere, the other one is hidden and goes with the next upload, renaming or
 * deletion of that name. The limit on voices is checked by each server against what it sees, so servers that upload at
 * the same moment may exceed it by one each. Never deletes what it cannot read.
 */
import { ApiError } from "../protocol/envelope.ts";
import { IndexedVoiceStore, type StoreOptions } from "./indexed-store.ts";
import { type EntryFiles, type EntryName, idOf, parseEntry, type VoiceMedium } from "./medium.ts";
import { Bucket, type BucketAddress } from "./s3-objects.ts";
import { DETAILS_FILE, parseDetails, SAMPLE_FILE, type VoiceDetails } from "./voice-files.ts";

export interface S3StoreOptions extends StoreOptions {
  /** Age in milliseconds after which files without details are no upload in progress but what a crash left. */
  readonly abandonedMs?: number;
}

/** A bucket, and what the keys of all objects in it begin with: nothing, or a text that ends with a slash. */
export interface S3Place extends BucketAddress {
  readonly prefix: string;
}

const DAY_MS = 24 * 60 * 60_000;

export class S3VoiceStore extends IndexedVoiceStore {
  /** Settles when what crashes left has been cleared away, or when that has failed; nothing waits for it. */
  readonly tidied: Promise<void>;

  private constructor(medium: VoiceBucket, options: S3StoreOptions) {
    super(medium, options);
    this.tidied = this.#tidy(medium, options).catch((error: unknown) => {
      // A bucket that is away has been reported; a server starts without it.
      if (!(error instanceof ApiError)) throw error;
    });
  }

  /** Opens a bucket without waiting for it, so that a server starts, and speaks with its own voices, without it. */
  static open({ prefix, ...address }: S3Place, options: S3StoreOptions = {}): S3VoiceStore {
    const bucket = new Bucket(address, options.log ?? (() => {}));
    return new S3VoiceStore(new VoiceBucket(bucket, prefix), options);
  }

  async #tidy(medium: VoiceBucket, { abandonedMs = DAY_MS }: S3StoreOptions): Promise<void> {
    await this.finishReplacements();
    await medium.sweep(abandonedMs);
  }
}

class VoiceBucket implements VoiceMedium {
  readonly #bucket: Bucket;
  readonly #details: string;
  readonly #files: string;

  constructor(bucket: Bucket, prefix: string) {
    this.#bucket = bucket;
    this.#details = `${prefix}details/`;
    this.#files = `${prefix}files/`;
  }

  async list(): Promise<EntryName[]> {
    return [...newest(await this.#entries()).values()].map(({ entry }) => entry);
  }

  async details(entry: EntryName): Promise<VoiceDetails | undefined> {
    const id = idOf(entry);
    const [text, size] = await Promise.all([
      this.#bucket.get(this.#detailsKey(entry)),
      this.#bucket.size(this.#fileKey(id, SAMPLE_FILE)),
    ]);
    if (text === undefined) return undefined;
    if (size === undefined) throw new Error("its recording is missing");
    return parseDetails(text.toString("utf8"), id, size);
  }

  async publish(entry: EntryName, files: EntryFiles): Promise<void> {
    const { [DETAILS_FILE]: details = "", ...others } = files;
    try {
      const writing = Object.entries(others).map(([file, content]) =>
        this.#bucket.put(this.#fileKey(idOf(entry), file), content),
      );
      // Not the first failure at once: nothing may be written any more when it is all removed.
      for (const result of await Promise.allSettled(writing)) {
        if (result.status === "rejected") throw result.reason;
      }
      // No other upload has this id: what lies there already came with a first attempt whose answer was lost.
      await this.#bucket.create(this.#detailsKey(entry), details);
    } catch (error) {
      // What a bucket that is away keeps of it is nobody's voice, and swept away one day.
      await this.discard(entry).catch(() => {});
      throw error;
    }
  }

  async change(from: EntryName, to: EntryName, details: string): Promise<boolean> {
    if ((await this.#bucket.size(this.#detailsKey(from))) === undefined) return false;
    if (!(await this.#bucket.create(this.#detailsKey(to), details))) return false;
    // Whoever deleted the voice meanwhile has removed the recording, or finds the new details afterwards.
    const sample = this.#fileKey(idOf(to), SAMPLE_FILE);
    const isDeleted = (await this.#bucket.size(sample)) === undefined;
    await this.#bucket.delete(this.#detailsKey(isDeleted ? to : from));
    return !isDeleted;
  }

  async discard(entry: EntryName): Promise<void> {
    const id = idOf(entry);
    await this.#deleteDetails(id);
    const files = await this.#bucket.list(this.#fileKey(id, ""));
    for (const { key } of files) await this.#bucket.delete(key);
    // A change that came between the two.
    await this.#deleteDetails(id);
  }

  read(entry: EntryName, file: string): Promise<Buffer | undefined> {
    return this.#bucket.get(this.#fileKey(idOf(entry), file));
  }

  async write(entry: EntryName, file: string, content: string): Promise<void> {
    const id = idOf(entry);
    const key = this.#fileKey(id, file);
    if ((await this.#entries(id)).length === 0) return;
    await this.#bucket.put(key, content);
    // Deleted meanwhile: then nobody else would remove the file.
    if ((await this.#entries(id)).length === 0) await this.#bucket.delete(key);
  }

  /** Removes what crashes left: details that newer ones have replaced, and files whose upload did not come to its end. */
  async sweep(abandonedMs: number): Promise<void> {
    const files = await this.#bucket.list(this.#files);
    // Listed after the files: an upload that is listed as a whole has its details here.
    const entries = await this.#entries();
    const current = newest(entries);
    for (const { entry, id } of entries) {
      const successor = current.get(id);
      if (successor === undefined || successor.entry === entry) continue;
      const isGood = await this.details(successor.entry).then(Boolean, () => false);
      if (isGood) await this.#bucket.delete(this.#detailsKey(entry));
    }
    for (const { key, changedAtMs } of files) {
      const id = key.slice(this.#files.length).split("/", 1)[0] ?? "";
      const isOurs = parseEntry(`${id}.0`) !== undefined;
      const isAbandoned = !current.has(id) && Date.now() - changedAtMs >= abandonedMs;
      if (isOurs && isAbandoned) await this.#bucket.delete(key);
    }
  }

  /** Oldest first, so that a crash in between brings no former details to light. */
  async #deleteDetails(id: string): Promise<void> {
    const entries = await this.#entries(id);
    for (const { entry } of entries.sort((a, b) => a.revision - b.revision)) {
      await this.#bucket.delete(this.#detailsKey(entry));
    }
  }

  /** Entries of all voices, or of one, in all revisions that are there. */
  async #entries(id = "") {
    const prefix = this.#details + (id && `${id}.`);
    const objects = await this.#bucket.list(prefix);
    return objects.flatMap(({ key }) => {
      const name = /^(.*)\.json$/.exec(key.slice(this.#details.length))?.[1];
      return parseEntry(name ?? "") ?? [];
    });
  }

  #detailsKey(entry: EntryName): string {
    return `${this.#details}${entry}.json`;
  }

  #fileKey(id: string, file: string): string {
    return `${this.#files}${id}/${file}`;
  }
}

type Parsed = NonNullable<ReturnType<typeof parseEntry>>;

/** By id: the entry with the highest revision. */
function newest(entries: readonly Parsed[]): Map<string, Parsed> {
  const byId = new Map<string, Parsed>();
  for (const each of entries) {
    const other = byId.get(each.id);
    if (other === undefined || other.revision < each.revision) byId.set(each.id, each);
  }
  return byId;
}
