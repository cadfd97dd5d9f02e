/** What speaks here: model, engine, build and configuration, for a report or a comparison. */
"use client";
import { fill } from "../i18n/format.ts";
import { useStrings } from "../i18n/provider.tsx";
import { useServer } from "../store/server.ts";
import { CopyButton } from "../ui/copy-button.tsx";
import { durationText } from "./gauges.ts";

const MEGABYTE = 1e6;

export function Facts() {
  const words = useStrings("status");
  const { facts, units } = words;
  const about = useServer((server) => server.about);
  const uptime = useServer((server) => server.tick?.uptime_s);
  const engine = about?.engine;
  const rows: readonly (readonly [string, string | undefined])[] = [
    [facts.model, about?.model],
    [facts.device, about?.device],
    [facts.engine, engine?.description ?? facts.notLoaded],
    [facts.precision, engine?.precision],
    [facts.threads, engine === undefined ? undefined : String(engine.threads)],
    [facts.weights, engine && fill(units.mb, { n: (engine.weight_bytes / MEGABYTE).toFixed(1) })],
    [facts.version, about?.version],
    [facts.commit, about === undefined ? undefined : (about.commit ?? facts.noCommit)],
    [facts.uptime, uptime === undefined ? undefined : durationText(uptime, units)],
    [facts.config, about?.config_sha256],
  ];
  const known = rows.filter((row): row is readonly [string, string] => row[1] !== undefined);
  return (
    <section
      aria-labelledby="facts"
      className="card grid content-start gap-3 p-4"
      data-testid="facts"
    >
      <div className="flex items-start justify-between gap-3">
        <h2 id="facts" className="text-lg font-semibold tracking-tight">
          {facts.title}
        </h2>
        {about !== undefined && (
          <CopyButton text={() => known.map(([name, value]) => `${name}: ${value}`).join("\n")} />
        )}
      </div>
      {about === undefined ? (
        <p className="text-sm text-muted">{facts.waiting}</p>
      ) : (
        <dl className="grid grid-cols-[auto_minmax(0,1fr)] gap-x-4 gap-y-1.5 text-sm">
          {known.map(([name, value]) => (
            <div key={name} className="contents">
              <dt className="text-muted">{name}</dt>
              <dd className="figures break-words text-xs leading-5 [overflow-wrap:anywhere]">
                {value}
              </dd>
            </div>
          ))}
        </dl>
      )}
    </section>
  );
}
