/** What can be taken along of a run: files for tables, programs and eyes, and the line that runs it again. */
"use client";
import { Download } from "lucide-react";
import type { RefObject } from "react";
import { repeatCommand } from "../../server/stress/command-line.ts";
import { reportCsv, reportJson, reportMarkdown, ticksCsv } from "../../server/stress/output.ts";
import { useStrings } from "../i18n/provider.tsx";
import { Button } from "../ui/button.tsx";
import { CopyButton } from "../ui/copy-button.tsx";
import { Problem } from "../ui/problem.tsx";
import { save } from "../ui/save-file.ts";
import { useTask } from "../voices/task.ts";
import { pictureOf } from "./picture.ts";
import type { StoredRun } from "./runs.ts";

interface ExportBarProps {
  readonly run: StoredRun;
  readonly title: string;
  /** Where the charts are. */
  readonly pictures: RefObject<HTMLElement | null>;
}

export function ExportBar({ run: { report }, title, pictures }: ExportBarProps) {
  const words = useStrings("stress").report;
  const task = useTask();
  const name = `stress-${report.startedAt.slice(0, 19).replaceAll(":", "-")}`;
  const saveText = (text: string, type: string, end: string) =>
    save(new Blob([text], { type }), `${name}${end}`);
  const savePicture = async () => {
    if (pictures.current === null) return;
    save(await pictureOf(pictures.current, `${title}, ${report.startedAt}`), `${name}.png`);
  };
  const files: [label: string, action: () => void][] = [
    [words.csvSteps, () => saveText(reportCsv(report), "text/csv", "-steps.csv")],
    [words.csvTicks, () => saveText(ticksCsv(report), "text/csv", "-readings.csv")],
    [words.json, () => saveText(reportJson(report), "application/json", ".json")],
    [words.png, () => void task.run(savePicture)],
  ];
  const command = repeatCommand(report.plan, location.origin);
  return (
    <div className="grid gap-3 border-t border-line pt-3">
      <fieldset className="flex min-w-0 flex-wrap gap-1.5">
        <legend className="sr-only">{words.exports}</legend>
        {files.map(([label, action]) => (
          <Button key={label} size="small" onClick={action}>
            <Download size={13} aria-hidden />
            {label}
          </Button>
        ))}
        <CopyButton text={() => reportMarkdown(report, location.origin)} label={words.markdown} />
      </fieldset>
      {task.trouble && <Problem trouble={task.trouble} onDismiss={task.dismiss} />}
      <div className="grid gap-1">
        <p className="text-xs font-medium text-muted">{words.repeat}</p>
        <div className="flex items-start gap-2">
          <pre
            className="figures min-w-0 flex-1 whitespace-pre-wrap break-all rounded-md bg-sunken px-2.5 py-1.5 text-xs"
            data-testid="repeat"
          >
            {command}
          </pre>
          <CopyButton text={command} />
        </div>
      </div>
    </div>
  );
}
