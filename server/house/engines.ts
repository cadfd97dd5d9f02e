/** The engines of a model, as its configuration wants them. */
import { join } from "node:path";
import type { Config, Device } from "../config/config.ts";
import { Engine } from "../engine/engine.ts";
import { EngineGroup } from "../engine/engine-group.ts";
import type { LoadOptions } from "../engine/types.ts";
import type { HostedEngine } from "../speech/engine-host.ts";

const PRECISIONS = { auto: undefined, float32: "fp32", int8: "int8", bfloat16: "bf16" } as const;

function engineOptions({ model, engine }: Config, device: Device): LoadOptions {
  const precision = PRECISIONS[engine.precision];
  return {
    lmFolder: join(model, "lm"),
    codecFolder: join(model, "codec"),
    device,
    threads: engine.threads,
    ...(precision === undefined ? {} : { precision }),
    limits: {
      maxSequences: engine.maxSequences,
      maxParked: engine.maxParked,
      maxWaiting: engine.maxQueue,
      prefillSliceRows: engine.prefillSliceRows,
      voiceCacheBytes: engine.voiceCacheBytes,
      encodeSliceFrames: engine.encodeSliceFrames,
    },
  };
}

/** One engine, or one on each of several devices. */
export function loadEngines(config: Config): Promise<HostedEngine> {
  const { devices } = config.engine;
  const loads = devices.map((device) => () => Engine.load(engineOptions(config, device)));
  const [only] = loads;
  return only !== undefined && loads.length === 1 ? only() : EngineGroup.load(loads);
}
