import type { Pack } from '../../../shared/archive/pack.ts';
import { type Dataset, readDataset } from '../datasets.ts';
import type { OwnerApi } from '../ownerApi.ts';
import { leastSquares, mean, outcomeOf, type Points, rounded, theilSen } from '../statistics.ts';
import { OUTCOME_RULE, publish } from './draft.ts';

const NODE = 'earth/atmosphere';
/** The maximum relative difference at which a replication's slope counts as the same. */
const TOLERANCE = 0.05;

/** Publishes a first version that includes incomplete years, a corrected one, and a replication with another line. */
export async function publishCarbonDioxide(api: OwnerApi): Promise<void> {
  const dataset = readDataset('co2-concentration.csv');
  await api.call('createNode', { body: { path: NODE, title: 'Atmosphere' } });
  const study = await api.call('createStudy', {
    body: {
      title: 'How fast does carbon dioxide rise at Mauna Loa?',
      question: 'What is the mean yearly rise over the whole record?',
      node: NODE,
      status: 'running',
    },
  });
  const first = await publishRise(api, dataset, { study: study.id, fewestMonths: 1 });
  const second = await publishRise(api, dataset, { study: study.id, fewestMonths: 12, supersedes: first.id });
  await replicateByMedian(api, dataset, second, study.id);
}

/** Returns the mean of each year that has at least this many months. */
function yearlyMeans({ rows }: Dataset, fewestMonths: number): Points {
  const years = Map.groupBy(rows, ({ Date: date }) => Number(String(date).slice(0, 4)));
  return [...years]
    .filter(([, months]) => months.length >= fewestMonths)
    .map(([year, months]) => [year, mean(months.map(({ CO2 }) => Number(CO2)))] as const);
}

function used(points: Points) {
  return {
    columns: ['year', 'mean_ppm'],
    rows: points.map(([year, ppm]) => [year, rounded(ppm)]),
  };
}

async function publishRise(
  api: OwnerApi,
  dataset: Dataset,
  { study, fewestMonths, supersedes }: { study: string; fewestMonths: number; supersedes?: string },
): Promise<Pack> {
  const points = yearlyMeans(dataset, fewestMonths);
  const { slope, low, high } = leastSquares(points);
  const which = fewestMonths === 1 ? 'all years' : 'complete years';
  const reason = supersedes
    ? ' This version leaves out the years that lack months, whose means lean to a season.'
    : '';
  return publish(api, {
    dataset,
    title: `The yearly rise of carbon dioxide at Mauna Loa, ${which}`,
    summary: `Over ${points.length} years the yearly mean rises by ${rounded(slope, 3)} ppm a year (95 % interval ${rounded(low, 3)} to ${rounded(high, 3)}).${reason}`,
    method: {
      complete: true,
      text: [
        `1. From data/co2-concentration.csv take the column CO2 and compute the mean of each calendar year that has at least ${fewestMonths} ${fewestMonths === 1 ? 'month' : 'months'}; the means are in used.csv.`,
        '2. slope_ppm_per_year is the slope of the line of least squares of the means on the year; its 95 % interval is the slope ± 1.959964 times its standard error.',
        `3. ${OUTCOME_RULE}`,
      ].join('\n'),
    },
    outcome: outcomeOf({ low, high }),
    results: {
      years: points.length,
      slope_ppm_per_year: rounded(slope),
      slope_low: rounded(low),
      slope_high: rounded(high),
    },
    keywords: ['carbon dioxide', 'Mauna Loa', 'trend'],
    node: NODE,
    study,
    supersedes,
    used: used(points),
  });
}

async function replicateByMedian(
  api: OwnerApi,
  dataset: Dataset,
  original: Pack,
  study: string,
): Promise<void> {
  const points = yearlyMeans(dataset, 12);
  const slope = theilSen(points);
  const claimed = Number(original.results.slope_ppm_per_year);
  const apart = Math.abs(slope - claimed) / claimed;
  const verdict = apart <= TOLERANCE ? 'reproduced' : slope > 0 ? 'partial' : 'failed';
  await publish(api, {
    dataset,
    title: 'The yearly rise of carbon dioxide at Mauna Loa, by the median of slopes',
    summary: `The median of the slopes between all pairs of years is ${rounded(slope, 3)} ppm a year, ${rounded(apart * 100, 1)} % from the ${claimed} of ${original.id}.`,
    method: {
      complete: true,
      text: [
        '1. Yearly means of the column CO2 of data/co2-concentration.csv, of years with twelve months; they are in used.csv.',
        '2. slope_ppm_per_year is the median of the slopes between all pairs of years (Theil 1950, Sen 1968).',
        '3. The verdict is “reproduced” if it is within 5 % of the original’s slope, “partial” if only the sign agrees, else “failed”. The outcome is “positive” if the slope is above 0.',
      ].join('\n'),
    },
    outcome: slope > 0 ? 'positive' : 'negative',
    results: {
      years: points.length,
      slope_ppm_per_year: rounded(slope),
      percent_apart: rounded(apart * 100, 2),
    },
    keywords: ['carbon dioxide', 'Mauna Loa', 'robust trend'],
    node: NODE,
    study,
    replicates: { pack: original.id, verdict, note: 'Same means, a line that outliers cannot pull.' },
    used: used(points),
  });
}
