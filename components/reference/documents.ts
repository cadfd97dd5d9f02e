/** The descriptions that the server publishes of itself, read once for the page. */
"use client";
import { useEffect } from "react";
import { create } from "zustand";
import type { AsyncApiDocument, AsyncMessage } from "../../server/protocol/asyncapi.ts";
import { client } from "../api/client.ts";
import { type Trouble, troubleOf } from "../api/trouble.ts";
import type { OpenApi } from "./operations.ts";

interface DocumentsState {
  readonly load: "loading" | "ready" | "failed";
  readonly trouble: Trouble | undefined;
  readonly openapi: OpenApi | undefined;
  readonly asyncapi: AsyncApiDocument | undefined;
  /** Name of the served model; empty until it is known. */
  readonly model: string;
}

const useStore = create<DocumentsState>()(() => ({
  load: "loading",
  trouble: undefined,
  openapi: undefined,
  asyncapi: undefined,
  model: "",
}));

let isReading = false;

/** Reads both documents, again if that failed before. */
export async function loadDocuments(): Promise<void> {
  if (isReading || useStore.getState().load === "ready") return;
  isReading = true;
  useStore.setState({ load: "loading", trouble: undefined });
  try {
    const own = client();
    const [openapi, asyncapi, { model }] = await Promise.all([
      own.openapi(),
      own.asyncapi(),
      own.version(),
    ]);
    useStore.setState({
      load: "ready",
      openapi: openapi as unknown as OpenApi,
      asyncapi: asyncapi as unknown as AsyncApiDocument,
      model,
    });
  } catch (error) {
    useStore.setState({ load: "failed", trouble: troubleOf(error) });
  } finally {
    isReading = false;
  }
}

export function useDocuments(): DocumentsState {
  useEffect(() => void loadDocuments(), []);
  return useStore();
}

/** Messages of one direction, in the document's order. @param action from the server's view */
export function messagesOf(document: AsyncApiDocument, action: "receive" | "send"): AsyncMessage[] {
  const found = Object.values(document.operations).find((one) => one.action === action);
  const references = (found?.messages ?? []) as readonly { readonly $ref: string }[];
  return references.flatMap(({ $ref }) => {
    const message = document.components.messages[$ref.slice($ref.lastIndexOf("/") + 1)];
    return message === undefined ? [] : [message];
  });
}
