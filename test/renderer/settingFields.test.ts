import { expect, test } from 'vitest';
import { SETTING_GROUPS } from '../../renderer/src/pages/settings/settingFields.ts';
import { settingsSchema } from '../../shared/node/settings.ts';

/** Switches of the settings, and of the pages Sharing, Alerts and Ledger. */
const ON_OTHER_PAGES = [
  'tls',
  'repair_from_peers',
  'smtp',
  'timestamps_answered',
  'collect_on_low_battery',
  'collect_when_metered',
];

test('every setting appears once, on the settings page or on the page Sharing, Alerts or Ledger', () => {
  const shown = SETTING_GROUPS.flatMap(({ fields }) => fields.map(({ name }) => name));
  expect([...shown, ...ON_OTHER_PAGES].toSorted()).toEqual(Object.keys(settingsSchema.shape).toSorted());
});
