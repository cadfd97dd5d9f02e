/** What a server says about a pulled model that nobody asked it to speak with. */
import { join } from "node:path";
import { MOSS_TTS_NANO } from "./known-models.ts";
import { readManifest } from "./manifest.ts";

/**
 * A pulled model is mentioned and not taken by itself, so that a server speaks with another model only when it is told to.
 * @param root of the project
 * @returns a line for people, or undefined where nothing was pulled to the usual place
 */
export async function pulledHint(root: string): Promise<string | undefined> {
  const { id, name } = MOSS_TTS_NANO;
  const manifest = await readManifest(join(root, "native/models", id)).catch(() => undefined);
  if (manifest?.model !== id) return undefined;
  return `${name} is here as well; to speak with it: npm start -- --config deploy/${id}.yaml`;
}
