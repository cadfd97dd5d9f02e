/** The models that were pulled to their usual places, for a server that is told nothing else. */
import { join } from "node:path";
import { KNOWN_MODELS, type KnownModel } from "./known-models.ts";
import { readManifest } from "./manifest.ts";

/** Where a known model lies, once it was pulled there. @param root of the project */
export function usualFolder(root: string, { id }: Pick<KnownModel, "id">): string {
  return join(root, "native/models", id);
}

/** Those of the known models that are there as a whole: a manifest is written last. @param root of the project */
export async function pulledModels(root: string): Promise<KnownModel[]> {
  const found = await Promise.all(
    KNOWN_MODELS.map(async (model) => {
      const manifest = await readManifest(usualFolder(root, model)).catch(() => undefined);
      return manifest?.model === model.id ? [model] : [];
    }),
  );
  return found.flat();
}
