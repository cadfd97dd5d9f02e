/** Rules between keys of the deploy file, which no single key can show. */

interface StageLike {
  readonly stage_id: number;
  readonly devices?: string | undefined;
}

interface FileLike {
  readonly stages: readonly StageLike[];
  readonly connectors: object;
  readonly output: { readonly channels: number; readonly allow_channels: readonly number[] };
}

interface Context {
  readonly value: FileLike;
  readonly issues: unknown[];
}

/** Check for zod: adds one issue for each rule that is broken. */
export function checkFileRules(context: Context): void {
  const { stages, connectors, output } = context.value;
  const complain = (path: string[], message: string) =>
    context.issues.push({ code: "custom", path, message, input: context.value });
  const [frames, ...moreFrames] = stages.filter(({ stage_id: id }) => id === 0);
  const [codec, ...moreCodecs] = stages.filter(({ stage_id: id }) => id === 1);
  if (frames === undefined || moreFrames.length > 0 || moreCodecs.length > 0) {
    complain(["stages"], "there has to be one stage with stage_id 0, and at most one with 1");
  }
  if (frames !== undefined && codec?.devices !== undefined && codec.devices !== frames.devices) {
    complain(["stages"], "both stages have to be on the same device");
  }
  if (Object.keys(connectors).length > 1) complain(["connectors"], "there can be only one");
  if (!output.allow_channels.includes(output.channels)) {
    complain(["output", "channels"], "is not among output.allow_channels");
  }
}
