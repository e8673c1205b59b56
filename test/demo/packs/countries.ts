import { readDataset } from '../datasets.ts';
import type { OwnerApi } from '../ownerApi.ts';
import { outcomeOf, pearson, rounded } from '../statistics.ts';
import { OUTCOME_RULE, publish } from './draft.ts';

const NODE = 'society';
const YEAR = 2000;

/** A report-only pack: the data set does not say how its countries were selected, so the method is incomplete. */
export async function publishCountries(api: OwnerApi): Promise<void> {
  await api.call('createNode', { body: { path: NODE, title: 'Society' } });
  const dataset = readDataset('countries.json');
  const rows = dataset.rows.filter(({ year }) => year === YEAR);
  const { r, low, high } = pearson(
    rows.map(({ fertility, life_expect }) => [Number(fertility), Number(life_expect)] as const),
  );
  await publish(api, {
    dataset,
    title: `Do people live longer where more children are born? ${rows.length} countries in ${YEAR}`,
    summary: `Fertility and life expectancy at birth correlate with r = ${rounded(r)} (95 % interval ${rounded(low)} to ${rounded(high)}) over ${rows.length} countries: where more children are born, lives are shorter.`,
    method: {
      complete: false,
      text: `Pearson’s correlation of the columns fertility and life_expect over the rows of ${YEAR}, with Fisher’s interval. ${OUTCOME_RULE} How these ${rows.length} countries were chosen is not documented, so nobody can draw them again.`,
    },
    outcome: outcomeOf({ low, high }),
    results: {
      year: YEAR,
      countries: rows.length,
      pearson_r: rounded(r),
      r_low: rounded(low),
      r_high: rounded(high),
    },
    keywords: ['fertility', 'life expectancy'],
    node: NODE,
    used: {
      columns: ['country', 'fertility', 'life_expect'],
      rows: rows.map((row) => [String(row.country), Number(row.fertility), Number(row.life_expect)]),
    },
  });
}
