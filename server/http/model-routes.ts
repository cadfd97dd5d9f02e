/** The models of the server: which there are, in which state, and loading and unloading them by hand. */
import type { FastifyInstance } from "fastify";
import type { ServedModel } from "../house/types.ts";
import {
  type ListedModel,
  type ModelCard,
  type ModelFacts,
  modelCard,
  modelList,
} from "../protocol/documents.ts";
import type { HttpDeps } from "./deps.ts";
import { workSignal } from "./requests.ts";

interface NamedModel {
  /** A name may contain slashes, as those of model hubs do. */
  Params: { "*": string };
}

const CHANGE = /^(.+)\/(load|unload)$/;

export function addModelRoutes(app: FastifyInstance, { models, config }: HttpDeps): void {
  const created = Math.floor(Date.now() / 1000);

  app.get("/v1/models", () => modelList(models.all.map(listed), created));

  app.get<NamedModel>("/v1/models/*", ({ params: { "*": id } }): ModelCard => {
    return modelCard(id, listed(models.named(id)), created);
  });

  app.post<NamedModel>("/v1/models/*", async ({ params }, reply) => {
    const [, id, change] = CHANGE.exec(params["*"]) ?? [];
    if (id === undefined) return reply.code(404).send({ detail: "Not Found" });
    const signal = workSignal(reply, config.server.requestTimeoutMs);
    const model =
      change === "load" ? await models.loadNow(id, signal) : await models.unload(id, signal);
    return modelCard(id, listed(model), created);
  });
}

function listed(served: ServedModel): ListedModel {
  const { servedModelNames: names, openaiAliases: aliases } = served.config;
  return { names, aliases, facts: factsOf(served) };
}

function factsOf(served: ServedModel): ModelFacts {
  const { id, state, isDefault, model, config, device, engine } = served;
  const { stage, reason } = state;
  return {
    state: stage,
    ...(reason === undefined ? {} : { reason }),
    main: id,
    is_default: isDefault,
    ...(model === undefined
      ? {}
      : {
          name: model.name,
          family: model.family,
          description: model.description,
          languages: [...model.capabilities.languages],
          capabilities: {
            cloning: model.capabilities.cloning,
            instructions: model.capabilities.instructions,
            speed: model.capabilities.speed,
          },
          sample_rate: model.audio.sampleRate,
          default_voice: config.voices.default ?? model.defaultVoice ?? null,
          sampling: {
            temperature: config.sampling.textTemperature ?? model.sampling.textTemperature,
            audio_temperature: config.sampling.audioTemperature ?? model.sampling.audioTemperature,
          },
        }),
    device,
    ...(engine === undefined ? {} : { engine }),
  };
}
