/** What a page shows when its own code fails; the rest of the frame goes on. */
"use client";
import { FailedPage } from "../components/frame/missing-page.tsx";

export default function PageError({ reset }: { readonly reset: () => void }) {
  return <FailedPage retry={reset} />;
}
