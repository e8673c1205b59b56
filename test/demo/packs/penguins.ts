import type { Pack } from '../../../shared/archive/pack.ts';
import { type Dataset, readDataset } from '../datasets.ts';
import type { OwnerApi } from '../ownerApi.ts';
import {
  leastSquares,
  outcomeOf,
  type Points,
  pearson,
  rounded,
  spearman,
  verdictOf,
} from '../statistics.ts';
import { OUTCOME_RULE, publish } from './draft.ts';

const SPECIES = ['Adelie', 'Chinstrap', 'Gentoo'] as const;
const ALL = 'all species';

interface Measured {
  points: Points;
  used: { columns: string[]; rows: (string | number)[][] };
}

/** Returns the rows of a species that have both measurements. */
function measured({ rows }: Dataset, species: string, x: string, y: string): Measured {
  const kept = rows.filter(
    (row) =>
      (species === ALL || row.Species === species) &&
      typeof row[x] === 'number' &&
      typeof row[y] === 'number',
  );
  return {
    points: kept.map((row) => [Number(row[x]), Number(row[y])] as const),
    used: {
      columns: ['Species', x, y],
      rows: kept.map((row) => [String(row.Species), Number(row[x]), Number(row[y])]),
    },
  };
}

/** Publishes a study with a pack per species and one of all, a rank-based replication, and a pack with a mixed outcome. */
export async function publishPenguins(api: OwnerApi): Promise<void> {
  const dataset = readDataset('penguins.json');
  await api.call('createNode', { body: { path: 'biology', title: 'Biology' } });
  await api.call('createNode', {
    body: {
      path: 'biology/penguins',
      title: 'Penguins',
      description: 'Measurements of the Palmer Archipelago.',
    },
  });
  const study = await api.call('createStudy', {
    body: {
      title: 'Are penguins with longer flippers heavier?',
      question: 'Within each species, and over all, does body mass rise with flipper length?',
      node: 'biology/penguins',
      status: 'running',
    },
  });
  let pooled: Pack | undefined;
  for (const species of [...SPECIES, ALL]) {
    pooled = await publishFlippers(api, dataset, species, study.id);
  }
  if (pooled) await replicateByRanks(api, dataset, pooled, study.id);
  const note = 'Four packs, one replication by ranks.';
  await api.call('setStudyStatus', { params: { id: study.id }, body: { status: 'completed', note } });
  const beaks = await publishBeaks(api, dataset);
  await discuss(api, beaks);
}

async function publishFlippers(
  api: OwnerApi,
  dataset: Dataset,
  species: string,
  study: string,
): Promise<Pack> {
  const { points, used } = measured(dataset, species, 'Flipper Length (mm)', 'Body Mass (g)');
  const { r, low, high } = pearson(points);
  const line = leastSquares(points);
  return publish(api, {
    dataset,
    title: `Flipper length and body mass of penguins, ${species}`,
    summary: `Over ${points.length} penguins (${species}), flipper length and body mass correlate with r = ${rounded(r)} (95 % interval ${rounded(low)} to ${rounded(high)}); the line of least squares rises by ${rounded(line.slope, 1)} g per mm.`,
    method: {
      complete: true,
      text: [
        `1. From data/penguins.json take the rows${species === ALL ? '' : ` with Species “${species}”`} whose “Flipper Length (mm)” and “Body Mass (g)” are numbers; they are in used.csv.`,
        '2. pearson_r is Pearson’s correlation of the two columns. Its 95 % interval is tanh(atanh(r) ± 1.959964 / √(n − 3)).',
        '3. slope_g_per_mm is the slope of the line of least squares of mass on length.',
        `4. ${OUTCOME_RULE}`,
        '5. Numbers are rounded to four decimals, the slope to two.',
      ].join('\n'),
    },
    outcome: outcomeOf({ low, high }),
    results: {
      species,
      n: points.length,
      pearson_r: rounded(r),
      r_low: rounded(low),
      r_high: rounded(high),
      slope_g_per_mm: rounded(line.slope, 2),
    },
    keywords: ['penguins', 'morphology', 'correlation'],
    node: 'biology/penguins',
    study,
    used,
  });
}

async function replicateByRanks(
  api: OwnerApi,
  dataset: Dataset,
  original: Pack,
  study: string,
): Promise<void> {
  const { points, used } = measured(dataset, ALL, 'Flipper Length (mm)', 'Body Mass (g)');
  const { rho, low, high } = spearman(points);
  const originalR = Number(original.results.pearson_r);
  await publish(api, {
    dataset,
    title: 'Flipper length and body mass of penguins, by ranks',
    summary: `The claim of ${original.id} (r = ${originalR}) computed anew with ranks instead of lengths: Spearman’s ρ = ${rounded(rho)} (95 % interval ${rounded(low)} to ${rounded(high)}).`,
    method: {
      complete: true,
      text: [
        '1. From data/penguins.json take the rows whose “Flipper Length (mm)” and “Body Mass (g)” are numbers; they are in used.csv.',
        '2. Rank both columns from 1; equal values share the mean of their ranks. spearman_rho is Pearson’s correlation of the ranks.',
        '3. Its 95 % interval is tanh(atanh(ρ) ± 1.959964 · √(1.06 / (n − 3))) (Fieller, Hartley and Pearson 1957).',
        '4. The verdict is “reproduced” if that interval lies on the same side of 0 as the original’s correlation, “partial” if only ρ itself does, else “failed”.',
        `5. ${OUTCOME_RULE}`,
      ].join('\n'),
    },
    outcome: outcomeOf({ low, high }),
    results: { n: points.length, spearman_rho: rounded(rho), rho_low: rounded(low), rho_high: rounded(high) },
    keywords: ['penguins', 'morphology', 'rank correlation'],
    node: 'biology/penguins',
    study,
    replicates: {
      pack: original.id,
      verdict: verdictOf(originalR, rho, { low, high }),
      note: 'Same file, another method: ranks instead of measured values.',
    },
    used,
  });
}

async function publishBeaks(api: OwnerApi, dataset: Dataset): Promise<Pack> {
  const groups = [...SPECIES, ALL].map((species) => {
    const { points, used } = measured(dataset, species, 'Beak Length (mm)', 'Beak Depth (mm)');
    return { species, used, n: points.length, ...pearson(points) };
  });
  const outcomes = new Set(groups.map(outcomeOf));
  const [only] = outcomes;
  const rows = groups.map(
    ({ species, r, low, high }) => `| ${species} | ${rounded(r)} | ${rounded(low)} to ${rounded(high)} |`,
  );
  const pooled = groups.at(-1);
  return publish(api, {
    dataset,
    title: 'Are longer penguin beaks deeper?',
    summary: `Within each species longer beaks are deeper; over all species together the line points the other way.\n\n| Species | r | 95 % interval |\n| --- | --- | --- |\n${rows.join('\n')}`,
    method: {
      complete: true,
      text: [
        '1. From data/penguins.json take the rows whose “Beak Length (mm)” and “Beak Depth (mm)” are numbers; they are in used.csv.',
        '2. For each species, and for all together, compute Pearson’s correlation of the two and its 95 % interval tanh(atanh(r) ± 1.959964 / √(n − 3)).',
        '3. Each group is “positive” if its interval lies above 0, “negative” if below, “null” if it holds 0. Where the groups differ, the outcome is “mixed”.',
      ].join('\n'),
    },
    outcome: outcomes.size === 1 && only ? only : 'mixed',
    results: Object.fromEntries(
      groups.map(({ species, r }) => [`r_${species.replace(' ', '_')}`, rounded(r)]),
    ),
    keywords: ['penguins', 'morphology', 'Simpson’s paradox'],
    node: 'biology/penguins',
    used: pooled?.used ?? { columns: [], rows: [] },
  });
}

async function discuss(api: OwnerApi, pack: Pack): Promise<void> {
  const params = { id: pack.id };
  const question = await api.call('addComment', {
    params,
    body: { author: 'A reader', body: 'Why does the pooled line fall when each species rises on its own?' },
  });
  await api.call('addComment', {
    params,
    body: {
      author: 'Strongroom demonstration',
      body: 'Gentoo beaks are long and shallow, Adelie beaks short and deep: the difference between species outweighs the trend within them. The column Species in used.csv shows it.',
      reply_to: question.id,
    },
  });
}
