import { Switch } from '@mantine/core';
import type { Settings } from '../../../../shared/node/settings.ts';
import { useCall, useSave } from '../../api/useCall.ts';
import { ErrorNote } from '../../components/feedback/ErrorNote.tsx';
import { Section } from '../../components/layout/Page.tsx';

const CHOICES = [
  {
    name: 'collect_on_low_battery',
    label: 'Collect on a low battery',
    description: 'Otherwise no round starts by itself while this machine runs on a battery below 20 %.',
  },
  {
    name: 'collect_when_metered',
    label: 'Collect on a metered network',
    description:
      'Otherwise no round starts by itself on a network that NetworkManager says is metered. Other systems do not say it.',
  },
] as const;

const WORDS = {
  battery_low: 'Rounds are paused: the battery is below 20 %. You can still check sources yourself.',
  metered: 'Rounds are paused: the network is metered. You can still check sources yourself.',
};

/** Whether rounds start by themselves although the battery is low or the network is metered. */
export function RoundPauses() {
  const settings = useCall('readSettings', {});
  const state = useCall('readRoundPause', {});
  const change = useSave('changeSettings', (body: Partial<Settings>) => ({ body }));
  if (!settings.data) return null;
  const shown = { ...settings.data, ...(change.isPending ? change.variables : {}) };
  const paused = state.data?.paused;
  return (
    <Section title="Battery and metered networks">
      {paused && <p className="mb-4">{WORDS[paused]}</p>}
      <div className="stack gap-4">
        {CHOICES.map(({ name, label, description }) => (
          <Switch
            key={name}
            label={label}
            description={description}
            checked={shown[name]}
            disabled={change.isPending}
            onChange={(event) => change.mutate({ [name]: event.currentTarget.checked })}
          />
        ))}
      </div>
      {change.error && <ErrorNote error={change.error} />}
    </Section>
  );
}
