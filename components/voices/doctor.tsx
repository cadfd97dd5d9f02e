/** The check-up of the recording as it will be uploaded: every finding with its value, what to do, and a button that does it. */
"use client";
import { clsx } from "clsx";
import { CircleAlert, CircleCheck, TriangleAlert } from "lucide-react";
import { useLimits } from "../api/limits.ts";
import { type Finding, GOOD_SECONDS } from "../audio/doctor.ts";
import { fill } from "../i18n/format.ts";
import { useStrings } from "../i18n/provider.tsx";
import { Badge } from "../ui/badge.tsx";
import { Button } from "../ui/button.tsx";
import { applyFix, type Source, undoRepairs, useDraft } from "./draft.ts";
import { remedyOf, shownFindings, valueText } from "./findings.ts";

const ICONS = { pass: CircleCheck, warn: TriangleAlert, fail: CircleAlert } as const;
const COLOURS = { pass: "text-good", warn: "text-warn", fail: "text-bad" } as const;
/** Starts that differ by less are the same, in seconds. */
const SAME_SECONDS = 0.01;
const TONES = { pass: "good", warn: "warn", fail: "bad" } as const;

export function Doctor({ source }: { readonly source: Source }) {
  const words = useStrings("voices").doctor;
  const { trim } = useStrings("voices");
  const examined = useDraft((state) => state.examined);
  const isExamining = useDraft((state) => state.isExamining);
  const range = useDraft((state) => state.treatment.range);
  if (examined === undefined) return null;
  const { grade, findings } = examined.diagnosis;
  const summary = { pass: words.allGood, warn: words.warned, fail: words.failed }[grade];
  const { bestWindow } = source.whole;
  const isBest =
    source.seconds > GOOD_SECONDS.max && Math.abs(range.start - bestWindow.start) < SAME_SECONDS;
  return (
    <section aria-labelledby="doctor-title" data-grade={grade} className="grid gap-2">
      <div className="flex flex-wrap items-center gap-2">
        <h4 id="doctor-title" className="text-sm font-semibold">
          {words.title}
        </h4>
        <Badge tone={TONES[grade]}>{words[grade]}</Badge>
        <p role="status" className="text-sm text-muted">
          {isExamining ? words.examining : summary}
        </p>
      </div>
      {isBest && <p className="text-xs text-muted">{trim.longNote}</p>}
      <ul
        aria-label={words.all}
        className={clsx("grid gap-x-5 gap-y-1.5 sm:grid-cols-2", isExamining && "opacity-60")}
      >
        {shownFindings(findings).map((finding) => (
          <Row key={finding.code} finding={finding} />
        ))}
      </ul>
      <Repairs />
    </section>
  );
}

function Row({ finding }: { readonly finding: Finding }) {
  const words = useStrings("voices").doctor;
  const limits = useLimits()?.limits;
  const isBusy = useDraft((state) => state.isExamining || state.phase === "saving");
  const { code, grade, fix } = finding;
  const remedy = remedyOf(finding);
  const Icon = ICONS[grade];
  const values = {
    min: limits?.reference_min_seconds ?? 1,
    max: limits?.reference_max_seconds ?? 30,
  };
  return (
    <li
      data-check={code}
      data-grade={grade}
      className={clsx("flex items-start gap-2 text-sm", grade !== "pass" && "sm:col-span-2")}
    >
      <Icon size={16} aria-hidden className={clsx("mt-0.5 shrink-0", COLOURS[grade])} />
      <div className="grid min-w-0 flex-1">
        <span className="flex flex-wrap items-baseline gap-x-2">
          <span className={clsx(grade !== "pass" && "font-medium")}>{words.checks[code]}</span>
          <span className="figures text-xs text-muted">{valueText(finding)}</span>
          <span className={grade === "pass" ? "sr-only" : clsx("text-xs", COLOURS[grade])}>
            {words[grade]}
          </span>
        </span>
        {remedy && <span className="text-xs">{fill(words.remedies[remedy], values)}</span>}
      </div>
      {fix && grade !== "pass" && (
        <Button size="small" disabled={isBusy} onClick={() => applyFix(fix)}>
          {words.fixes[fix.kind]}
        </Button>
      )}
    </li>
  );
}

/** What was repaired, and how to take it back; trimming is taken back where it is done. */
function Repairs() {
  const words = useStrings("voices").doctor;
  const { levels, removesOffset } = useDraft((state) => state.treatment);
  const isSaving = useDraft((state) => state.phase === "saving");
  const done = [
    ...(levels ? [words.fixes.gain] : []),
    ...(removesOffset ? [words.fixes.remove_offset] : []),
  ];
  if (done.length === 0) return null;
  return (
    <p className="flex flex-wrap items-center gap-2 text-xs text-muted">
      {fill(words.repaired, { fixes: done.join(", ") })}
      <Button size="small" kind="quiet" disabled={isSaving} onClick={undoRepairs}>
        {words.undo}
      </Button>
    </p>
  );
}
