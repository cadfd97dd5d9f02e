/** Keys of other servers' deploy files that have no meaning here: accepted, so that their files load, and reported. */
import { z } from "zod";

const IGNORED = "Accepted and ignored: ";

/** A key that is accepted and ignored, with the reason. */
export function ignored(reason: string) {
  return z
    .unknown()
    .optional()
    .describe(IGNORED + reason)
    .meta({ deprecated: true });
}

/** Why a key is ignored; undefined if it is not. */
export function ignoredReason(schema: z.ZodType | undefined): string | undefined {
  const text = schema?.description;
  return text?.startsWith(IGNORED) ? text.slice(IGNORED.length) : undefined;
}
