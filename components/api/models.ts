/** The models of the server, each once, whatever names it has. */
import type { ModelFacts } from "../../server/protocol/documents.ts";
import { client } from "./client.ts";

export interface PlayModel {
  /** What requests call it. */
  readonly id: string;
  /** What people call it. */
  readonly name: string;
  readonly description: string;
  /** Two-letter codes; empty while its folder cannot be read. */
  readonly languages: readonly string[];
  readonly isDefault: boolean;
  /** Voice that speaks when none is named; undefined if it has none. */
  readonly defaultVoice: string | undefined;
  /** Sampling of requests that do not say; undefined while its folder cannot be read. */
  readonly sampling: ModelFacts["sampling"];
  /** Its state when it was read. */
  readonly stage: ModelFacts["state"];
  readonly reason: string | undefined;
  readonly device: string;
  readonly engine: ModelFacts["engine"];
}

/** @throws SonantError */
export async function fetchModels(): Promise<PlayModel[]> {
  const { data } = await client().models();
  return data.filter(({ id, sonant }) => id === sonant.main).map(({ sonant }) => playModel(sonant));
}

function playModel(facts: ModelFacts): PlayModel {
  return {
    id: facts.main,
    name: facts.name ?? facts.main,
    description: facts.description ?? "",
    languages: facts.languages ?? [],
    isDefault: facts.is_default,
    defaultVoice: facts.default_voice ?? undefined,
    sampling: facts.sampling,
    stage: facts.state,
    reason: facts.reason,
    device: facts.device,
    engine: facts.engine,
  };
}
