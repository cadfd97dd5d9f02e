/** Asks for the API key when the server refuses for want of one, and has everything that failed read again. */
"use client";
import { type FormEvent, useState } from "react";
import { dismissKey, setApiKey, useKey } from "../api/key.ts";
import { loadLimits } from "../api/limits.ts";
import { reconnect } from "../api/live.ts";
import { useStrings } from "../i18n/provider.tsx";
import { loadVoices } from "../store/voices.ts";
import { Button } from "../ui/button.tsx";
import { Dialog } from "../ui/dialog.tsx";
import { TextField } from "../ui/field.tsx";

export function KeyDialog() {
  const { apiKey: words } = useStrings("common");
  const wasWrong = useKey((state) => state.wasWrong);
  const [key, setKey] = useState("");
  const apply = (event: FormEvent) => {
    event.preventDefault();
    if (key.trim() === "") return;
    setApiKey(key.trim());
    reconnect();
    void loadVoices();
    void loadLimits();
  };
  return (
    <Dialog
      open
      onOpenChange={(open) => open || dismissKey()}
      title={words.title}
      about={words.about}
    >
      <form className="grid gap-3" onSubmit={apply}>
        <TextField
          label={words.label}
          type="password"
          autoFocus
          autoComplete="off"
          spellCheck={false}
          value={key}
          onChange={(event) => setKey(event.currentTarget.value)}
          error={wasWrong ? words.wrong : undefined}
        />
        <Button kind="primary" type="submit" disabled={key.trim() === ""} className="w-fit">
          {words.apply}
        </Button>
      </form>
    </Dialog>
  );
}
