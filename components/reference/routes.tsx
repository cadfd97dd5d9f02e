/** Every HTTP route of the server: what it takes, what it answers, and a command that calls it. */
"use client";
import { ChevronRight } from "lucide-react";
import { useStrings } from "../i18n/provider.tsx";
import { useVoiceChoice } from "../store/voices.ts";
import { Badge } from "../ui/badge.tsx";
import { type CodeOptions, curlForRoute } from "./code.ts";
import { CodeBlock } from "./code-block.tsx";
import { Described, FieldsTable } from "./fields-table.tsx";
import type { Answer, BodyShape, Operation } from "./operations.ts";
import { Entry, Section } from "./section.tsx";

interface RoutesProps {
  readonly operations: readonly Operation[];
  readonly options: CodeOptions;
}

export function Routes({ operations, options }: RoutesProps) {
  const words = useStrings("reference");
  const tags = [...new Set(operations.map(({ tag }) => tag))];
  const names: Readonly<Record<string, string>> = words.routes.tags;
  return (
    <Section id="routes" title={words.sections.routes} about={words.routes.about}>
      {tags.map((tag) => (
        <div key={tag} className="grid gap-2">
          <h3 className="text-sm font-semibold text-muted">{names[tag] ?? tag}</h3>
          {operations
            .filter((operation) => operation.tag === tag)
            .map((operation) => (
              <Route key={operation.id} operation={operation} options={options} />
            ))}
        </div>
      ))}
    </Section>
  );
}

function Route({
  operation,
  options,
}: {
  readonly operation: Operation;
  readonly options: CodeOptions;
}) {
  const { routes, code } = useStrings("reference");
  const voice = useVoiceChoice((state) => state.chosen) || "default";
  const { id, method, path, summary, description, parameters, bodies, answers } = operation;
  const command = curlForRoute(operation, options, { voice, model: options.model });
  return (
    <Entry
      id={id}
      head={
        <>
          <Badge tone={method === "GET" ? "plain" : "accent"}>{method}</Badge>
          <code className="figures break-all font-semibold">{path}</code>
          <span className="basis-full text-muted">{summary}</span>
        </>
      }
    >
      {description && (
        <p className="text-sm">
          <Described text={description} />
        </p>
      )}
      {operation.isSocket && (
        <p className="text-sm">
          <a href="#toServer" className="text-accent underline underline-offset-4">
            {routes.socket}
          </a>
        </p>
      )}
      {parameters.length > 0 && (
        <Part title={routes.parameters}>
          <FieldsTable rows={parameters} label={routes.parameters} />
        </Part>
      )}
      {bodies.length > 0 && (
        <Part title={routes.body}>
          {bodies.map((body) => (
            <Shape key={body.contentType + body.name} body={body} />
          ))}
        </Part>
      )}
      {command !== undefined && (
        <Part title={code.curlNote}>
          <CodeBlock label={`${code.label}: ${method} ${path}`} code={command} />
        </Part>
      )}
      <Part title={routes.answers}>
        {answers.map((answer) => (
          <AnswerEntry key={answer.status} answer={answer} />
        ))}
      </Part>
    </Entry>
  );
}

function Part({ title, children }: { readonly title: string; readonly children: React.ReactNode }) {
  return (
    <div className="grid gap-2">
      <h4 className="text-xs font-semibold text-muted">{title}</h4>
      {children}
    </div>
  );
}

function Shape({ body }: { readonly body: BodyShape }) {
  const { contentType, name, fields } = body;
  return (
    <div className="grid gap-1">
      <p className="figures text-xs text-muted">
        {contentType} · {name}
      </p>
      {fields.length > 0 && <FieldsTable rows={fields} label={name} />}
    </div>
  );
}

function AnswerEntry({ answer }: { readonly answer: Answer }) {
  const { routes } = useStrings("reference");
  const { status, description, bodies, headers, errors } = answer;
  if (errors.length > 0) return <Failure answer={answer} />;
  const isGood = status.startsWith("2") || status === "101";
  return (
    <details className="group/answer rounded-lg bg-sunken px-3 py-2 text-sm">
      <summary className="flex min-h-6 flex-wrap items-center gap-2 marker:content-none">
        <ChevronRight
          size={14}
          aria-hidden
          className="text-muted transition-transform group-open/answer:rotate-90"
        />
        <Badge tone={isGood ? "good" : "warn"}>{status}</Badge>
        <Described text={description} />
      </summary>
      <div className="grid gap-3 pt-2">
        {bodies.length === 0 && <p>{routes.noBody}</p>}
        {bodies.map((body) => (
          <Shape key={body.contentType + body.name} body={body} />
        ))}
        {headers.length > 0 && (
          <FieldsTable
            label={routes.headers}
            rows={headers.map(({ name, description: text }) => ({
              name,
              type: "",
              isRequired: false,
              description: text,
              fallback: undefined,
            }))}
          />
        )}
      </div>
    </details>
  );
}

/** Failures all have the same body; what differs is told once, in the section about errors. */
function Failure({ answer: { status, errors, headers } }: { readonly answer: Answer }) {
  return (
    <p className="flex flex-wrap items-center gap-x-3 gap-y-1 rounded-lg bg-sunken px-3 py-2 text-sm">
      <Badge tone="warn">{status}</Badge>
      {errors.map((code) => (
        <a
          key={code}
          href={`#error-${code}`}
          className="figures break-all text-xs underline underline-offset-4"
        >
          {code}
        </a>
      ))}
      {headers.map(({ name }) => (
        <span key={name} className="figures text-xs text-muted">
          {name}
        </span>
      ))}
    </p>
  );
}
