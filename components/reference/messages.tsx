/** Messages of the speech socket, one direction of them. */
"use client";
import type { AsyncMessage } from "../../server/protocol/asyncapi.ts";
import { fill } from "../i18n/format.ts";
import { useStrings } from "../i18n/provider.tsx";
import { Badge } from "../ui/badge.tsx";
import { Described, FieldsTable } from "./fields-table.tsx";
import { fieldRows, type JsonSchema } from "./schema.ts";
import { Entry, Section } from "./section.tsx";

interface MessagesProps {
  readonly id: "toServer" | "fromServer";
  readonly messages: readonly AsyncMessage[];
}

export function Messages({ id, messages }: MessagesProps) {
  const words = useStrings("reference");
  const about = id === "toServer" ? words.messages.toServerAbout : words.messages.fromServerAbout;
  return (
    <Section id={id} title={words.sections[id]} about={about}>
      <div className="grid gap-2">
        {messages.map((message) => (
          <Message key={message.name} message={message} />
        ))}
      </div>
    </Section>
  );
}

function Message({ message }: { readonly message: AsyncMessage }) {
  const words = useStrings("reference").messages;
  const { name, summary, payload, "x-dialects": dialects } = message;
  const schema = payload as JsonSchema;
  const rows = fieldRows(schema).filter((row) => row.name !== "type");
  return (
    <Entry
      id={`message-${name}`}
      head={
        <>
          <code className="figures font-semibold">{name}</code>
          <Badge>
            {dialects.length > 1 ? words.dialects : fill(words.dialect, { n: dialects[0] ?? 1 })}
          </Badge>
          <span className="basis-full text-muted">
            <Described text={summary} />
          </span>
        </>
      }
    >
      {rows.length > 0 ? (
        <FieldsTable rows={rows} label={name} />
      ) : (
        <p className="text-sm text-muted">
          <Described text={schema.description ?? words.noFields} />
        </p>
      )}
    </Entry>
  );
}
