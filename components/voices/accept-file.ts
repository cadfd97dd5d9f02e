/** What is done with a file, wherever it comes in. */
import type { Beginnings } from "./beginnings.ts";
import { readFile } from "./draft.ts";
import { cancelRecording } from "./recording.ts";
import { importVoice } from "./voice-actions.ts";
import { isVoiceFile } from "./voice-file.ts";

/**
 * Imports an exported voice; any other file becomes the draft.
 * @returns where on the voices page its course and its failures show
 */
export function acceptFile(file: File, beginnings: Beginnings): "library" | "panel" {
  if (isVoiceFile(file)) {
    void importVoice(file);
    return "library";
  }
  cancelRecording();
  void readFile(file, beginnings);
  return "panel";
}
