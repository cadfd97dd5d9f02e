/** What stands in place of a page that does not exist or has failed. */
"use client";
import Link from "next/link";
import { useStrings } from "../i18n/provider.tsx";
import { Button } from "../ui/button.tsx";

export function MissingPage() {
  const { failure } = useStrings("common");
  return (
    <div className="mx-auto grid max-w-md gap-4 py-16 text-center">
      <h1 className="text-xl font-semibold">{failure.missing}</h1>
      <Link href="/" className="text-accent underline underline-offset-4">
        {failure.home}
      </Link>
    </div>
  );
}

export function FailedPage({ retry }: { readonly retry: () => void }) {
  const { failure, actions } = useStrings("common");
  return (
    <div
      role="alert"
      className="mx-auto grid max-w-md justify-items-center gap-4 py-16 text-center"
    >
      <h1 className="text-xl font-semibold">{failure.page}</h1>
      <p className="text-muted">{failure.pageNext}</p>
      <Button onClick={retry}>{actions.retry}</Button>
    </div>
  );
}
