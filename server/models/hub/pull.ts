/** Carries a plan out: fetches what is missing, builds the model folder beside its place, and puts it there in one step. */
import { rm } from "node:fs/promises";
import { type Assembled, assemble, type WeightTools } from "./assemble.ts";
import type { HubClient } from "./client.ts";
import { download } from "./download.ts";
import { withFolderLock } from "./lock.ts";
import { publish, pulledModel } from "./places.ts";
import { checkSpace, type PullPlan } from "./plan.ts";
import type { RetryHooks } from "./retry.ts";

export interface PullHooks extends RetryHooks {
  /** Told how many bytes of all are there, after every piece; and of which file. */
  readonly onBytes?: ((bytes: number, path: string) => void) | undefined;
  /** Told when everything is there and the folder is being built. */
  readonly onAssemble?: (() => void) | undefined;
}

/**
 * Pulls a model. Interrupted at any moment, it leaves the model that stood there before, and what has arrived for the next
 * time.
 * @throws HubError, ModelError for a release that is not of its family, or the signal's reason
 */
export function pull(
  client: HubClient,
  plan: PullPlan,
  tools: WeightTools,
  hooks: PullHooks = {},
): Promise<Assembled> {
  const { places } = plan;
  return withFolderLock(places.lock, async () => {
    checkSpace(plan);
    const hashes = new Map<string, string>();
    let before = 0;
    for (const { part, file, target } of plan.files) {
      const onBytes = (bytes: number) => hooks.onBytes?.(before + bytes, `${part}/${file.path}`);
      hashes.set(target, await download(client, file, target, { ...hooks, onBytes }));
      before += file.size;
    }
    hooks.onAssemble?.();
    const made = await assemble(plan, hashes, tools);
    hooks.signal?.throwIfAborted();
    // Looked at again: hours may have passed since the plan.
    await pulledModel(places.target);
    await publish(places);
    await rm(places.workspace, { recursive: true, force: true });
    return made;
  });
}
