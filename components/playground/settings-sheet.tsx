/** Everything about how the next take is generated, in a sheet of its own. */
"use client";
import { useStrings } from "../i18n/provider.tsx";
import { useChosenModel } from "../store/models.ts";
import { changeSettings, DEFAULTS, useSettings } from "../store/settings.ts";
import { Button } from "../ui/button.tsx";
import { Dialog } from "../ui/dialog.tsx";
import { RangeField } from "../ui/field.tsx";
import { Switch } from "../ui/switch.tsx";

interface SettingsSheetProps {
  readonly open: boolean;
  readonly onOpenChange: (open: boolean) => void;
}

/** Where a slider starts while the model's own setting is not known. */
const STARTING_TEMPERATURE = 1;

export function SettingsSheet({ open, onOpenChange }: SettingsSheetProps) {
  const words = useStrings("playground").transport;
  const { speed, temperature, audioTemperature, normalise } = useSettings();
  const own = useChosenModel()?.sampling;
  return (
    <Dialog
      open={open}
      onOpenChange={onOpenChange}
      side="right"
      title={words.settings}
      about={words.settingsAbout}
    >
      <div className="grid gap-5">
        <RangeField
          label={words.speed}
          value={speed}
          min={0.5}
          max={2}
          step={0.05}
          format={(value) => `${value.toFixed(2)} ×`}
          onChange={(event) => changeSettings({ speed: Number(event.target.value) })}
        />
        <Temperature
          label={words.audioTemperature}
          value={audioTemperature}
          own={own?.audio_temperature}
          onChange={(value) => changeSettings({ audioTemperature: value })}
        />
        <Temperature
          label={words.temperature}
          value={temperature}
          own={own?.temperature}
          onChange={(value) => changeSettings({ temperature: value })}
        />
        <Switch
          label={words.normalise}
          checked={normalise}
          onChange={(value) => changeSettings({ normalise: value })}
        />
        <Button
          onClick={() => {
            const { speed, temperature, audioTemperature, normalise } = DEFAULTS;
            changeSettings({ speed, temperature, audioTemperature, normalise });
          }}
          className="justify-self-start"
        >
          {words.reset}
        </Button>
      </div>
    </Dialog>
  );
}

interface TemperatureProps {
  readonly label: string;
  readonly value: number | undefined;
  /** What the model takes by itself. */
  readonly own: number | undefined;
  readonly onChange: (value: number | undefined) => void;
}

/** A sampling temperature that is the server's own until it is moved. */
function Temperature({ label, value, own = STARTING_TEMPERATURE, onChange }: TemperatureProps) {
  const words = useStrings("playground").transport;
  return (
    <RangeField
      label={label}
      value={value ?? own}
      min={0.1}
      max={2}
      step={0.05}
      format={(shown) => (value === undefined ? words.byServer : shown.toFixed(2))}
      onChange={(event) => onChange(Number(event.target.value))}
    />
  );
}
