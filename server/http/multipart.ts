/** Reads a form with at most one file of interest. The file's size is counted while it arrives. */
import type { MultipartFile } from "@fastify/multipart";
import type { FastifyRequest } from "fastify";
import { concatBytes } from "../audio/pcm.ts";
import { ApiError } from "../protocol/envelope.ts";
import { ClientGone } from "./requests.ts";

export interface FormFile {
  readonly bytes: Uint8Array;
  readonly filename: string;
  readonly mimeType: string;
}

export interface Form {
  readonly fields: Record<string, string>;
  readonly file: FormFile | undefined;
}

/**
 * Reads all of a form.
 * @param fileField the one file that is kept; others are read and dropped
 * @throws ApiError `unsupported_media_type`, `upload_too_large` or `invalid_value`; ClientGone
 */
export async function readForm(
  request: FastifyRequest,
  fileField: string,
  maxBytes: number,
): Promise<Form> {
  if (!request.isMultipart()) {
    const message = "Unsupported Media Type: Only 'multipart/form-data' is allowed.";
    throw new ApiError("unsupported_media_type", message);
  }
  const fields: Record<string, string> = Object.create(null);
  let file: FormFile | undefined;
  try {
    for await (const part of request.parts({ limits: { fileSize: maxBytes } })) {
      if (part.type === "field") fields[part.fieldname] = String(part.value);
      else if (part.fieldname === fileField && file === undefined) {
        file = await readFile(part, maxBytes);
      } else part.file.resume();
    }
  } catch (error) {
    throw explained(error, request);
  }
  return { fields, file };
}

/** The parser's errors have no code where a form breaks off or is none, which is nobody's mistake but the client's. */
function explained(error: unknown, { raw }: FastifyRequest): unknown {
  if (error instanceof ApiError) return error;
  if (raw.destroyed && !raw.complete) return new ClientGone();
  if ((error as { code?: string }).code !== undefined) return error;
  const message = "The form is not complete, or not in the form that its boundary says.";
  return new ApiError("invalid_value", message, { cause: error });
}

async function readFile(part: MultipartFile, maxBytes: number): Promise<FormFile> {
  const parts: Uint8Array[] = [];
  for await (const bytes of part.file) parts.push(bytes);
  if (part.file.truncated) {
    const megabytes = Math.floor(maxBytes / 2 ** 20);
    const message = `File size exceeds maximum limit of ${megabytes}MB`;
    throw new ApiError("upload_too_large", message, { param: part.fieldname });
  }
  return {
    bytes: concatBytes(parts),
    filename: part.filename ?? "",
    mimeType: part.mimetype ?? "",
  };
}
