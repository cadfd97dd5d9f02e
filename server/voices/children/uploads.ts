/**
 * Run by a test in a process of its own, which is then killed: uploads, describes, deletes and encodes voices in the folder
 * named by its argument, and says on standard output what it begins and what is done.
 */
import { FileVoiceStore } from "../file-store.ts";
import { draft, KEY } from "../test-voices.ts";

const [folder = "", firstFlavour = "1"] = process.argv.slice(2);
const store = await FileVoiceStore.open(folder);

function say(line: { readonly begin?: string; readonly done?: string; readonly sha256?: string }) {
  process.stdout.write(`${JSON.stringify(line)}\n`);
}

async function work(name: string): Promise<never> {
  for (let flavour = Number(firstFlavour); ; flavour++) {
    const voice = draft(name, flavour, 40_000);
    say({ begin: name, sha256: voice.sha256 });
    const { id } = await store.put(voice);
    say({ done: name, sha256: voice.sha256 });
    await store.update(id, { speakerDescription: voice.sha256 });
    await store.putCodes(id, { ...KEY, codec: `codec ${flavour % 3}` }, voice.codes);
    if (flavour % 5 !== 0) continue;
    say({ begin: name });
    await store.delete(name);
    say({ done: name });
  }
}

await Promise.all(["Ada", "Björn", "王"].map(work));
