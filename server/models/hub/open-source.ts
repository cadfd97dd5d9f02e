/** A source as the environment names it: address, credentials, proxies. The only file here that knows the variables. */
import { HubClient } from "./client.ts";
import { HubError } from "./errors.ts";
import { HUGGING_FACE, HuggingFace } from "./huggingface.ts";
import { MODEL_SCOPE, ModelScope } from "./modelscope.ts";
import type { Source, SourceName } from "./source.ts";

export type Environment = Readonly<Record<string, string | undefined>>;

/** Opens a source. The client has to be closed. @throws HubError for an address that is none */
export function openSource(
  name: SourceName,
  environment: Environment,
  silenceMs?: number,
): { readonly source: Source; readonly client: HubClient } {
  const limits = silenceMs === undefined ? {} : { silenceMs };
  if (name === "modelscope") {
    const token = environment.MODELSCOPE_API_TOKEN?.trim();
    const client = new HubClient({
      ...limits,
      environment,
      endpoint: address("MODELSCOPE_DOMAIN", environment.MODELSCOPE_DOMAIN, MODEL_SCOPE),
      headers: token
        ? { authorization: `Bearer ${token}`, cookie: `m_session_id=${token}` }
        : ({} as Record<string, string>),
      advice: "set MODELSCOPE_API_TOKEN to a token that may read it",
    });
    return { source: new ModelScope(client), client };
  }
  const token = environment.HF_TOKEN?.trim();
  const client = new HubClient({
    ...limits,
    environment,
    endpoint: address("HF_ENDPOINT", environment.HF_ENDPOINT, HUGGING_FACE),
    headers: token ? { authorization: `Bearer ${token}` } : ({} as Record<string, string>),
    advice: token
      ? "HF_TOKEN may not read it, or it does not exist"
      : "it does not exist there, or HF_TOKEN has to be set to a token that may read it",
  });
  return { source: new HuggingFace(client), client };
}

function address(variable: string, value: string | undefined, fallback: string): URL {
  const text = value?.trim() || fallback;
  const whole = text.includes("://") ? text : `https://${text}`;
  const url = URL.canParse(whole) ? new URL(whole) : undefined;
  if (url === undefined || !/^https?:$/.test(url.protocol) || url.username || url.search) {
    throw new HubError(
      "source_unreachable",
      `${variable} must be an http or https address without credentials, such as ${fallback}; found '${text}'`,
    );
  }
  return url;
}
