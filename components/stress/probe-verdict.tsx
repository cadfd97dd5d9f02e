/** Whether one seeded request had the same bytes alone and among the load, with what proves it. */
"use client";
import { CircleAlert, CircleCheck, CircleHelp } from "lucide-react";
import type { StressProbe } from "../../server/stress/types.ts";
import { fill } from "../i18n/format.ts";
import { useStrings } from "../i18n/provider.tsx";
import { CopyButton } from "../ui/copy-button.tsx";

type Verdict = "equal" | "differs" | "never";

function verdictOf({ runs, equal }: StressProbe): Verdict {
  if (runs === 0) return "never";
  return equal === runs ? "equal" : "differs";
}

export function ProbeVerdict({ probe }: { readonly probe: StressProbe }) {
  const words = useStrings("stress").report;
  const verdict = verdictOf(probe);
  const { runs, equal, unanswered, sha256, seed, text, firstDifference } = probe;
  const sentence = {
    equal: words.probeEqual,
    differs: words.probeDiffers,
    never: words.probeNever,
  }[verdict];
  return (
    <section
      aria-labelledby="probe"
      className="card grid gap-2 p-3 text-sm"
      data-testid="probe"
      data-verdict={verdict}
    >
      <h3 id="probe" className="font-semibold">
        {words.probe}
      </h3>
      <p className="flex gap-2">
        <Sign verdict={verdict} />
        <span className="min-w-0">{fill(sentence, { equal, runs })}</span>
      </p>
      {unanswered > 0 && <p>{fill(words.probeUnanswered, { n: unanswered })}</p>}
      {firstDifference !== null && (
        <p>
          {fill(words.probeDifference, {
            run: firstDifference.run,
            byte: firstDifference.byte,
            bytes: firstDifference.bytes,
            expected: firstDifference.expectedBytes,
          })}
        </p>
      )}
      <p className="text-muted">{fill(words.probeSaid, { seed, text })}</p>
      <dl className="grid gap-1 text-xs">
        <Hash name={words.probeHash} hash={sha256} />
        {firstDifference !== null && (
          <Hash
            name={fill(words.probeOther, { n: firstDifference.run })}
            hash={firstDifference.sha256}
          />
        )}
      </dl>
    </section>
  );
}

function Sign({ verdict }: { readonly verdict: Verdict }) {
  const look = { size: 18, "aria-hidden": true, className: "mt-0.5 shrink-0" } as const;
  if (verdict === "equal")
    return <CircleCheck {...look} className={`${look.className} text-good`} />;
  if (verdict === "differs")
    return <CircleAlert {...look} className={`${look.className} text-bad`} />;
  return <CircleHelp {...look} className={`${look.className} text-muted`} />;
}

function Hash({ name, hash }: { readonly name: string; readonly hash: string | null }) {
  const words = useStrings("stress").report;
  return (
    <div className="flex flex-wrap items-center gap-x-2 gap-y-1">
      <dt className="text-muted">{name}</dt>
      <dd className="flex min-w-0 flex-wrap items-center gap-2">
        <span className="figures break-all">{hash ?? words.probeNoHash}</span>
        {hash !== null && <CopyButton text={hash} kind="quiet" />}
      </dd>
    </div>
  );
}
