import { expect, test } from 'vitest';
import { SETTING_GROUPS } from '../../renderer/src/pages/settings/settingFields.ts';
import { settingsSchema } from '../../shared/node/settings.ts';

test('every setting appears once on the settings page', () => {
  const shown = SETTING_GROUPS.flatMap(({ fields }) => fields.map(({ name }) => name));
  expect(shown.toSorted()).toEqual(Object.keys(settingsSchema.shape).toSorted());
});
