import type { Verdict } from '../../../shared/archive/vocabulary.ts';
import { readDataset } from '../datasets.ts';
import type { OwnerApi } from '../ownerApi.ts';
import { akiB, leastSquares, outcomeOf, rounded } from '../statistics.ts';
import { OUTCOME_RULE, publish } from './draft.ts';

const NODE = 'earth/earthquakes';
/** Below this magnitude, seismic networks miss many earthquakes. */
const COMPLETE_FROM = 4.5;
/** Magnitudes are rounded to a tenth, so a bin begins half a tenth below its value. */
const HALF_BIN = 0.05;
/** A replication whose interval excludes the original's value, but which differs by at most this, is partial. */
const PARTIAL_WITHIN = 0.3;

/** Publishes the b-value of one week by a line through the counts, and a replication by maximum likelihood. */
export async function publishEarthquakes(api: OwnerApi): Promise<void> {
  await api.call('createNode', { body: { path: NODE, title: 'Earthquakes' } });
  const dataset = readDataset('earthquakes.json');
  const strong = dataset.rows.filter(
    ({ type, mag }) => type === 'earthquake' && typeof mag === 'number' && mag >= COMPLETE_FROM - HALF_BIN,
  );
  const magnitudes = strong.map(({ mag }) => Number(mag));
  const used = {
    columns: ['time', 'mag', 'place'],
    rows: strong.map(({ time, mag, place }) => [Number(time), Number(mag), String(place)]),
  };
  const selection = `1. From data/earthquakes.json take the events of type “earthquake” with a magnitude of at least ${COMPLETE_FROM} (rounded to a tenth); they are in used.csv.`;

  const counts = countsAtLeast(magnitudes);
  const line = leastSquares(counts);
  const original = await publish(api, {
    dataset,
    title: 'The b-value of one week of earthquakes, by least squares',
    summary: `Over ${magnitudes.length} earthquakes of magnitude ${COMPLETE_FROM} and above, the logarithm of the number at or above a magnitude falls by ${rounded(-line.slope, 3)} per unit: b = ${rounded(-line.slope, 3)}.`,
    method: {
      complete: true,
      text: [
        selection,
        `2. For every tenth from ${COMPLETE_FROM} to the largest magnitude, count the events at or above it, and fit log10 of the count on the magnitude by least squares. b_value is the negative slope, its 95 % interval that of the slope (± 1.959964 standard errors).`,
        `3. ${OUTCOME_RULE}`,
      ].join('\n'),
    },
    outcome: outcomeOf({ low: -line.high, high: -line.low }),
    results: {
      events: magnitudes.length,
      b_value: rounded(-line.slope),
      b_low: rounded(-line.high),
      b_high: rounded(-line.low),
    },
    keywords: ['earthquakes', 'Gutenberg–Richter'],
    node: NODE,
    used,
  });

  const { b, low, high } = akiB(magnitudes, COMPLETE_FROM - HALF_BIN);
  const claimed = Number(original.results.b_value);
  const apart = Math.abs(b - claimed) / claimed;
  const verdict: Verdict =
    claimed >= low && claimed <= high ? 'reproduced' : apart <= PARTIAL_WITHIN ? 'partial' : 'failed';
  await publish(api, {
    dataset,
    title: 'The b-value of one week of earthquakes, by maximum likelihood',
    summary: `Maximum likelihood gives b = ${rounded(b, 3)} (95 % interval ${rounded(low, 3)} to ${rounded(high, 3)}), ${rounded(apart * 100, 1)} % from the ${claimed} of ${original.id}. A line through cumulative counts gives the few largest events too much weight.`,
    method: {
      complete: true,
      text: [
        selection,
        `2. b_value is log10(e) / (mean magnitude − ${COMPLETE_FROM - HALF_BIN}) (Aki 1965), its 95 % interval b ± 1.959964 · b / √n.`,
        '3. The verdict is “reproduced” if the original’s value lies in that interval, “partial” if it does not but is within 30 %, else “failed”.',
        `4. ${OUTCOME_RULE}`,
      ].join('\n'),
    },
    outcome: outcomeOf({ low, high }),
    results: { events: magnitudes.length, b_value: rounded(b), b_low: rounded(low), b_high: rounded(high) },
    keywords: ['earthquakes', 'Gutenberg–Richter', 'maximum likelihood'],
    node: NODE,
    replicates: {
      pack: original.id,
      verdict,
      note: 'Same events, the estimator that weighs each event alike.',
    },
    used,
  });
}

/** Returns, for each tenth of a magnitude, the logarithm of the number of events at or above it. */
function countsAtLeast(magnitudes: number[]): (readonly [number, number])[] {
  const tenths = Math.round((Math.max(...magnitudes) - COMPLETE_FROM) * 10);
  return Array.from({ length: tenths + 1 }, (_, index) => {
    const magnitude = COMPLETE_FROM + index / 10;
    const count = magnitudes.filter((value) => value >= magnitude - HALF_BIN).length;
    return [magnitude, Math.log10(count)] as const;
  });
}
