import type { OwnerApi } from './ownerApi.ts';
import { publishCarbonDioxide } from './packs/carbonDioxide.ts';
import { publishCountries } from './packs/countries.ts';
import { publishEarthquakes } from './packs/earthquakes.ts';
import { publishPenguins } from './packs/penguins.ts';
import { publishWeekends } from './packs/weekends.ts';

/** Publishes packs of public data. All results are computed here and can be recomputed. */
export async function publishDemoPacks(api: OwnerApi): Promise<void> {
  await publishPenguins(api);
  await api.call('createNode', { body: { path: 'earth', title: 'Earth' } });
  await publishCarbonDioxide(api);
  await publishWeekends(api);
  await publishEarthquakes(api);
  await publishCountries(api);
}
