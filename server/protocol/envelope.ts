/**
 * The error that every layer throws and the envelope that every HTTP route answers with. The envelope is the shared
 * one (`message`, `type`, `param`, `code`) plus a stable `reason`, `retryable` and a `hint` from the registry.
 */
import { z } from "zod";
import { ERRORS, type ErrorCode, type ErrorEntry } from "./error-registry.ts";
import { JsonSyntaxError, parseJson } from "./json.ts";
import { jsonViolation, offendingField, violationMessage, violationsOf } from "./violations.ts";

export const ErrorEnvelope = z.object({
  error: z
    .object({
      message: z.string().describe("What went wrong, in a sentence for a person"),
      type: z.string().describe("Class of the error, such as BadRequestError"),
      param: z.string().nullable().describe("The first field at fault, if one is"),
      code: z.int().describe("The HTTP status"),
      reason: z.string().describe("Stable name of the failure, such as invalid_voice"),
      retryable: z.boolean().describe("Whether the same request may succeed later"),
      hint: z.string().describe("What to do next"),
      request_id: z.string().optional().describe("Id of the failed request"),
      error_stage_id: z.int().optional().describe("Engine stage that failed: 0 frames, 1 codec"),
    })
    .describe("The failure"),
});
export type ErrorEnvelope = z.infer<typeof ErrorEnvelope>;

/** Body of the router's own answers (unknown path, wrong method). */
export const RouterAnswer = z.object({
  detail: z.enum(["Not Found", "Method Not Allowed"]).describe("The HTTP phrase"),
});
export type RouterAnswer = z.infer<typeof RouterAnswer>;

/** Body of a 401: a bare string, as clients of this API expect. */
export const Unauthorized = z.object({
  error: z.literal("Unauthorized").describe("The API key is missing or wrong"),
});
export type Unauthorized = z.infer<typeof Unauthorized>;

export interface ApiErrorDetails {
  readonly param?: string | null;
  readonly requestId?: string;
  /** Engine stage that failed: 0 frames, 1 codec. */
  readonly stage?: number;
  /** For `Retry-After`, in seconds. */
  readonly retryAfterSeconds?: number;
  readonly cause?: unknown;
}

/** A failure that a client is told about. Everything about it but the message comes from the registry. */
export class ApiError extends Error {
  constructor(
    readonly code: ErrorCode,
    message: string = ERRORS[code].text,
    readonly details: ApiErrorDetails = {},
  ) {
    super(message, { cause: details.cause });
    this.name = "ApiError";
  }

  get entry(): ErrorEntry {
    return ERRORS[this.code];
  }

  get status(): number {
    return this.entry.status;
  }

  get param(): string | null {
    return this.details.param ?? null;
  }

  envelope(): ErrorEnvelope {
    const { status, type, retryable, next } = this.entry;
    const { requestId, stage } = this.details;
    return {
      error: {
        message: this.message,
        type,
        param: this.param,
        code: status,
        reason: this.code,
        retryable,
        hint: next,
        ...(requestId === undefined ? {} : { request_id: requestId }),
        ...(stage === undefined ? {} : { error_stage_id: stage }),
      },
    };
  }
}

/** Any thrown value as an ApiError. Foreign errors become `internal`, and their text stays on the server. */
export function toApiError(error: unknown): ApiError {
  return error instanceof ApiError ? error : new ApiError("internal", undefined, { cause: error });
}

/** The error of a value that its schema refused: all violations in one message. */
export function schemaError(error: z.ZodError, root?: readonly string[]): ApiError {
  const violations = violationsOf(error, root);
  return new ApiError("schema_violation", violationMessage(violations), {
    param: offendingField(violations),
  });
}

/**
 * Checks a value against a schema.
 * @throws ApiError `schema_violation` with all violations
 */
export function validate<T extends z.ZodType>(schema: T, value: unknown): z.output<T> {
  const result = schema.safeParse(value, { reportInput: true });
  if (!result.success) throw schemaError(result.error);
  return result.data;
}

/**
 * Parses the text of a JSON body.
 * @throws ApiError `invalid_json`
 */
export function parseBody(text: string): unknown {
  try {
    return parseJson(text);
  } catch (error) {
    if (!(error instanceof JsonSyntaxError)) throw error;
    throw new ApiError("invalid_json", violationMessage([jsonViolation(error)]), { cause: error });
  }
}

/**
 * Refuses a Content-Type other than JSON; parameters such as a charset do not matter.
 * @throws ApiError `unsupported_media_type`
 */
export function requireJson(contentType: string | undefined): void {
  const mediaType = contentType?.split(";", 1)[0]?.trim().toLowerCase();
  if (mediaType !== "application/json") throw new ApiError("unsupported_media_type");
}
