import { expect, test } from 'vitest';
import { SETTING_GROUPS } from '../../renderer/src/pages/settings/settingFields.ts';
import { settingsSchema } from '../../shared/node/settings.ts';

/** The page Sharing has a switch for each. */
const ON_SHARING_PAGE = ['tls', 'repair_from_peers'];

test('every setting appears once, on the settings page or on the page Sharing', () => {
  const shown = SETTING_GROUPS.flatMap(({ fields }) => fields.map(({ name }) => name));
  expect([...shown, ...ON_SHARING_PAGE].toSorted()).toEqual(Object.keys(settingsSchema.shape).toSorted());
});
