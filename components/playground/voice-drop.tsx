/**
 * A recording that is dropped anywhere on the playground goes to the panel where voices are made. What reads it is loaded
 * only then, since most visits never drop a file.
 */
"use client";
import { useRouter } from "next/navigation";
import { useState } from "react";
import { useStrings } from "../i18n/provider.tsx";
import { Problem } from "../ui/problem.tsx";
import { useBeginnings } from "../voices/beginnings.ts";
import { FileDrop } from "../voices/file-drop.tsx";

export function VoiceDrop() {
  const { failure } = useStrings("common");
  const router = useRouter();
  const beginnings = useBeginnings();
  const [failed, setFailed] = useState<File>();
  const open = async (file: File) => {
    setFailed(undefined);
    try {
      const { acceptFile } = await import("../voices/accept-file.ts");
      router.push(acceptFile(file, beginnings) === "panel" ? "/voices#add" : "/voices");
    } catch {
      setFailed(file);
    }
  };
  return (
    <>
      <FileDrop onFile={(file) => void open(file)} />
      {failed && (
        <Problem
          trouble={{ code: "part_failed", message: failure.part, hint: failure.networkNext }}
          onRetry={() => void open(failed)}
          onDismiss={() => setFailed(undefined)}
        />
      )}
    </>
  );
}
