/** The one error of this folder: a model folder, a preset or a request that does not fit the model. */

export type ModelErrorCode =
  | "model_not_found"
  | "model_unsupported"
  | "model_invalid"
  | "preset_invalid"
  | "request_invalid";

/**
 * `code` is stable; `field` names what is wrong in dotted form (`gpt2_config.n_head`); the message says
 * what was found and what is allowed. Messages carry no stack or file content.
 */
export class ModelError extends Error {
  constructor(
    readonly code: ModelErrorCode,
    readonly field: string,
    message: string,
  ) {
    super(message);
    this.name = "ModelError";
  }
}
