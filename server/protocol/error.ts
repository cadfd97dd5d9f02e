/** The one form in which every door reports a failure. Pure: shared by server, browser and tests. */
import { z } from "zod";

export const ErrorBody = z.object({
  error: z.object({
    message: z.string().describe("One sentence for a person"),
    type: z.string().describe("A name for programs, such as BadRequestError"),
    param: z.string().nullable().describe("The field at fault, if there is one"),
    code: z.int().describe("The HTTP status"),
  }),
});
export type ErrorBody = z.infer<typeof ErrorBody>;

const TYPES: Record<number, string> = {
  400: "BadRequestError",
  404: "NotFoundError",
  413: "BadRequestError",
  415: "BadRequestError",
  500: "InternalServerError",
  503: "ServiceUnavailableError",
};

/** Builds an error body from a status, a sentence and the field at fault. */
export function errorBody(code: number, message: string, param: string | null = null): ErrorBody {
  return { error: { message, type: TYPES[code] ?? "Error", param, code } };
}

/** Builds the body for a request that its schema refused: the first fault, with its field. */
export function validationErrorBody(error: z.ZodError): ErrorBody {
  const issue = error.issues[0];
  const field = issue?.path.join(".") || null;
  const message = issue?.message ?? "Invalid request";
  return errorBody(400, field === null ? message : `${field}: ${message}`, field);
}
