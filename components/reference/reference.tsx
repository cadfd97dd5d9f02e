/**
 * The API page: contents, the reference as the server itself describes it, and a panel to try it. Nothing here repeats what
 * a schema says; the words around it are the guide's.
 */
"use client";
import { Download } from "lucide-react";
import { useEffect, useState } from "react";
import { useKey } from "../api/key.ts";
import { useStrings } from "../i18n/provider.tsx";
import { Problem } from "../ui/problem.tsx";
import { Contents } from "./contents.tsx";
import { loadDocuments, messagesOf, useDocuments } from "./documents.ts";
import { CloseCodes, Errors } from "./failures.tsx";
import { Guide } from "./guide.tsx";
import { Limits } from "./limits.tsx";
import { Messages } from "./messages.tsx";
import { operationsOf } from "./operations.ts";
import { Routes } from "./routes.tsx";
import { TrialPanel } from "./trial-panel.tsx";

export function Reference() {
  const words = useStrings("reference");
  const origin = useOrigin();
  const { load, trouble, openapi, asyncapi, model } = useDocuments();
  const hasKey = useKey((state) => state.changes > 0);
  const needsKey = (openapi?.security.length ?? 0) > 0 || hasKey;
  const options = { origin, model, needsKey };
  return (
    <div className="grid gap-5">
      <Head />
      <div className="grid items-start gap-6 lg:grid-cols-[13rem_minmax(0,1fr)] xl:grid-cols-[12rem_minmax(0,1fr)_26rem]">
        <Contents />
        <div className="min-w-0 xl:sticky xl:top-20 xl:col-start-3 xl:row-start-1 xl:max-h-[calc(100dvh-6rem)] xl:overflow-y-auto">
          <TrialPanel options={options} />
        </div>
        <article className="grid min-w-0 gap-10 lg:col-start-2 xl:row-start-1">
          {load === "loading" && <p className="text-sm text-muted">{words.loading}</p>}
          {trouble !== undefined && (
            <Problem trouble={trouble} onRetry={() => void loadDocuments()} />
          )}
          {openapi !== undefined && asyncapi !== undefined && (
            <>
              <Guide openapi={openapi} origin={origin} needsKey={needsKey} />
              <Routes operations={operationsOf(openapi)} options={options} />
              <Messages id="toServer" messages={messagesOf(asyncapi, "receive")} />
              <Messages id="fromServer" messages={messagesOf(asyncapi, "send")} />
              <CloseCodes codes={asyncapi["x-close-codes"]} />
              <Errors errors={openapi["x-errors"]} />
              <Limits schemas={openapi.components.schemas} />
            </>
          )}
        </article>
      </div>
    </div>
  );
}

function Head() {
  const words = useStrings("reference");
  return (
    <div className="grid max-w-prose gap-2">
      <h1 className="text-2xl font-semibold tracking-tight">{words.title}</h1>
      <p>{words.about}</p>
      <p className="text-sm text-muted">{words.language}</p>
      <ul aria-label={words.downloads.label} className="flex flex-wrap gap-2">
        {(["openapi", "asyncapi"] as const).map((name) => (
          <li key={name}>
            <a
              href={`/${name}.json`}
              download={`${name}.json`}
              className="inline-flex min-h-8 items-center gap-2 rounded-lg border border-line bg-surface px-3 text-sm hover:border-line-strong"
            >
              <Download size={14} aria-hidden />
              {words.downloads[name]}
            </a>
          </li>
        ))}
      </ul>
    </div>
  );
}

/** Address of this server as the visitor knows it; empty until the browser is asked. */
function useOrigin(): string {
  const [origin, setOrigin] = useState("");
  useEffect(() => setOrigin(location.origin), []);
  return origin;
}
