import { expect, test } from 'vitest';
import {
  formSchema,
  SETTING_GROUPS,
  settingsOf,
  typedOf,
} from '../../renderer/src/pages/settings/settingFields.ts';
import { DEFAULT_SETTINGS, type Settings } from '../../shared/node/settings.ts';

test('the form has one field for each of its settings', () => {
  const shown = SETTING_GROUPS.flatMap(({ fields }) => fields.map(({ name }) => name));
  expect(shown.toSorted()).toEqual(Object.keys(formSchema.shape).toSorted());
});

test('settings are the same after they were shown in the form and read from it', () => {
  const settings: Settings = {
    ...DEFAULT_SETTINGS,
    retry_delays_seconds: [2, 10],
    timestamp_authorities: ['https://first.example/tsa', 'https://second.example/tsa'],
    witnesses: [{ url: 'https://witness.example/witness', key: 'witness.example+00000000+AAAA' }],
    offload_after_days: 30,
    keep_local_gb: null,
  };
  expect(settingsOf(typedOf(settings))).toEqual(
    Object.fromEntries(Object.keys(formSchema.shape).map((name) => [name, settings[name as keyof Settings]])),
  );
});
