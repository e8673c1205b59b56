import type { PackRecordInput } from '../../shared/archive/pack.ts';
import { PACK_FORMAT, TERMS_VERSION } from '../../shared/limits.ts';

/*
 * What is in the sample archive. The lake, its ferry and everybody who watches them are invented. All results are computed
 * from the rows here, so the packs have the same fingerprints on every machine: they name no study, whose id is random.
 */

interface SampleFile {
  path: string;
  mediaType: string;
  text: string;
}

export interface SamplePack {
  record: Omit<PackRecordInput, 'files' | 'replicates'>;
  files: SampleFile[];
}

export const SUBJECTS = [
  { path: 'lakes', title: 'Lakes', description: 'Measurements of standing water.' },
  { path: 'lakes/ostrel', title: 'Lake Ostrel', description: 'An invented lake, for this sample.' },
];

/** The depth at which the disc disappears, in metres: weeks 18 to 33 of each year. */
const FIRST_WEEK = 18;
const BEFORE = [4.2, 4.4, 4.1, 4.6, 4.3, 4.5, 4.0, 4.2, 4.4, 4.7, 4.3, 4.1, 4.5, 4.2, 4.4, 4.6];
const AFTER = [4.3, 4.1, 4.5, 4.4, 4.2, 4.6, 4.1, 4.3, 4.0, 4.5, 4.4, 4.2, 4.6, 4.3, 4.1, 4.4];
const REPEATED_BEFORE = [4.1, 4.5, 4.2, 4.4, 4.3, 4.6, 4.1, 4.4, 4.2, 4.5];
const REPEATED_AFTER = [4.2, 4.3, 4.4, 4.1, 4.5, 4.2, 4.4, 4.3, 4.2, 4.5];
const TEMPERATURE = [
  9.8, 11.2, 12.9, 14.1, 15.6, 16.8, 17.9, 18.7, 19.9, 20.6, 21.4, 21.9, 21.2, 20.1, 18.8, 17.2,
];
const CHLOROPHYLL = [3.1, 3.4, 3.2, 4.0, 4.4, 4.3, 5.1, 5.6, 5.9, 6.6, 6.4, 7.1, 6.8, 6.1, 5.5, 5.2];

function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}

function variance(values: readonly number[]): number {
  const middle = mean(values);
  return values.reduce((sum, value) => sum + (value - middle) ** 2, 0) / (values.length - 1);
}

function correlation(left: readonly number[], right: readonly number[]): number {
  const [leftMean, rightMean] = [mean(left), mean(right)];
  const shared = left.reduce(
    (sum, value, at) => sum + (value - leftMean) * ((right[at] ?? 0) - rightMean),
    0,
  );
  return shared / (left.length - 1) / Math.sqrt(variance(left) * variance(right));
}

function rounded(value: number, digits = 3): number {
  return Number(value.toFixed(digits));
}

function csv(columns: readonly string[], rows: readonly (readonly (string | number)[])[]): string {
  return [columns, ...rows].map((row) => `${row.join(',')}\n`).join('');
}

function difference(before: readonly number[], after: readonly number[]) {
  const change = mean(after) - mean(before);
  const margin = 1.96 * Math.sqrt(variance(before) / before.length + variance(after) / after.length);
  return {
    weeks_before: before.length,
    weeks_after: after.length,
    mean_before_m: rounded(mean(before)),
    mean_after_m: rounded(mean(after)),
    difference_m: rounded(change),
    difference_low_m: rounded(change - margin),
    difference_high_m: rounded(change + margin),
  };
}

const clarityRows = (before: readonly number[], after: readonly number[]) => [
  ...before.map((depth, at) => [2024, FIRST_WEEK + at, 1, depth.toFixed(1)]),
  ...after.map((depth, at) => [2025, FIRST_WEEK + at, 2, depth.toFixed(1)]),
];

/** The two years as lines over the weeks. */
function clarityChart(): string {
  const line = (values: readonly number[]) =>
    values.map((depth, at) => `${40 + at * 24},${Math.round(20 + (depth - 3.8) * 160)}`).join(' ');
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 440 210" font-family="sans-serif" font-size="12">
  <rect width="440" height="210" fill="#fff"/>
  <text x="40" y="14">Depth of the disc in metres, weeks 18 to 33</text>
  <polyline points="${line(BEFORE)}" fill="none" stroke="#1d4f7c" stroke-width="2"/>
  <polyline points="${line(AFTER)}" fill="none" stroke="#a3551a" stroke-width="2" stroke-dasharray="5 3"/>
  <text x="40" y="200" fill="#1d4f7c">2024, one ferry</text>
  <text x="180" y="200" fill="#a3551a">2025, two ferries (dashed)</text>
</svg>
`;
}

const ANALYSIS = `# Computes the results of this pack: python3 analysis.py
import csv, math, statistics

rows = list(csv.DictReader(open("data/clarity.csv")))
before = [float(row["depth_m"]) for row in rows if row["ferries"] == "1"]
after = [float(row["depth_m"]) for row in rows if row["ferries"] == "2"]
change = statistics.mean(after) - statistics.mean(before)
margin = 1.96 * math.sqrt(
    statistics.variance(before) / len(before) + statistics.variance(after) / len(after)
)
print("difference_m", round(change, 3))
print("95 % interval", round(change - margin, 3), "to", round(change + margin, 3))
`;

const INVENTED = 'The lake, its ferries and these measurements are invented for the sample archive.';

const METHOD = [
  '1. On one day of each week from 18 to 33, between 11 and 13 o’clock, a white disc of 20 cm is lowered from the jetty until it disappears. The depth is read to 0.1 m. It is in data/clarity.csv.',
  '2. `difference_m` is the mean depth of 2025 less that of 2024.',
  '3. Its 95 % interval is the difference ± 1.96 · √(s₁²/n₁ + s₂²/n₂), where s² are the variances of the two years.',
  '4. The outcome is “negative” if the interval lies below 0, “positive” if above, and “null” if it holds 0.',
].join('\n');

const common = {
  pack_format: PACK_FORMAT,
  terms_version: TERMS_VERSION,
  node: 'lakes/ostrel',
} as const;

const clarityFile = (before: readonly number[], after: readonly number[]): SampleFile => ({
  path: 'data/clarity.csv',
  mediaType: 'text/csv',
  text: csv(['year', 'week', 'ferries', 'depth_m'], clarityRows(before, after)),
});
const analysisFile: SampleFile = { path: 'analysis.py', mediaType: 'text/x-python', text: ANALYSIS };

export const CLARITY: SamplePack = {
  record: {
    ...common,
    title: 'Clarity of Lake Ostrel with one ferry and with two',
    summary: `The water is as clear with two ferries as it was with one: the disc disappears at ${rounded(mean(AFTER), 2)} m in 2025 and at ${rounded(mean(BEFORE), 2)} m in 2024, and the interval of the difference holds 0.\n\n${INVENTED}`,
    authors: [{ name: 'Ostrel Field Station', affiliation: 'An invented institute' }],
    license: 'CC0-1.0',
    outcome: 'null',
    method: { complete: true, text: METHOD },
    results: difference(BEFORE, AFTER),
    keywords: ['lake', 'water clarity', 'Secchi disc', 'ferry'],
  },
  files: [
    clarityFile(BEFORE, AFTER),
    analysisFile,
    { path: 'chart.svg', mediaType: 'image/svg+xml', text: clarityChart() },
    {
      path: 'README.md',
      mediaType: 'text/markdown',
      text: `# Clarity of Lake Ostrel\n\n${INVENTED}\n\n- \`data/clarity.csv\`: one row for each week\n- \`analysis.py\`: computes the results from it\n- \`chart.svg\`: both years as lines\n`,
    },
  ],
};

export const REPLICATION: SamplePack = {
  record: {
    ...common,
    title: 'Clarity of Lake Ostrel, measured again from the other shore',
    summary: `Other people with another disc find the same: no difference between the years that is larger than its interval.\n\n${INVENTED}`,
    authors: [{ name: 'Volunteers of the East Shore', affiliation: 'An invented group' }],
    license: 'CC-BY-4.0',
    outcome: 'null',
    method: { complete: true, text: METHOD.replace('18 to 33', '18 to 27') },
    results: difference(REPEATED_BEFORE, REPEATED_AFTER),
    keywords: ['lake', 'water clarity', 'replication'],
  },
  files: [clarityFile(REPEATED_BEFORE, REPEATED_AFTER), analysisFile],
};
export const REPLICATION_NOTE = 'Ten weeks of each year, from the east shore, with a disc of the same size.';

export const ALGAE: SamplePack = {
  record: {
    ...common,
    title: 'Warmer weeks have more algae in Lake Ostrel',
    summary: `Over 16 weeks of 2025 the chlorophyll in the water rises with its temperature. How the chlorophyll was measured is not described fully, so this pack is a report.\n\n${INVENTED}`,
    authors: [{ name: 'Ostrel Field Station', affiliation: 'An invented institute' }],
    license: 'CC0-1.0',
    outcome: 'positive',
    method: {
      complete: false,
      text: 'Temperature at 1 m and chlorophyll at 1 m, once a week. `pearson_r` is the correlation of the two columns of data/algae.csv.',
    },
    results: { weeks: TEMPERATURE.length, pearson_r: rounded(correlation(TEMPERATURE, CHLOROPHYLL)) },
    keywords: ['lake', 'algae', 'temperature'],
  },
  files: [
    {
      path: 'data/algae.csv',
      mediaType: 'text/csv',
      text: csv(
        ['week', 'temperature_c', 'chlorophyll_ug_l'],
        TEMPERATURE.map((degrees, at) => [
          FIRST_WEEK + at,
          degrees.toFixed(1),
          (CHLOROPHYLL[at] ?? 0).toFixed(1),
        ]),
      ),
    },
  ],
};

export const COMMENT = {
  author: 'A reader',
  body: 'Was the disc read on the sunny side of the jetty in both years? Glare makes the depth smaller.',
};

/** A page or file on the web, as it was at several times. */
export interface SampleSource {
  url: string;
  name: string;
  agency: string;
  tags: string[];
  mediaType: string;
  versions: { at: string; body: string }[];
}

function guidelines(phosphorus: number, measured: string, more = ''): string {
  return `<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><title>Guideline values for lakes</title></head>
<body>
<h1>Guideline values for lakes</h1>
<p>These values apply to all lakes in which people bathe. They are measured in summer.</p>
<table>
<tr><th>What is measured</th><th>Guideline value</th></tr>
<tr><td>Depth at which a white disc disappears</td><td>at least 2 m</td></tr>
<tr><td>Phosphorus</td><td>at most ${phosphorus} µg per litre</td></tr>
<tr><td>Chlorophyll</td><td>at most 12 µg per litre</td></tr>
</table>
<p>Samples are taken ${measured} from May to August.</p>
${more}<p>Lakes Authority, department of bathing water</p>
</body>
</html>
`;
}

const TIMETABLE = [
  'ferry,departs,arrives,days',
  'Ostrel 1,07:30,07:55,Mon-Fri',
  'Ostrel 1,09:00,09:25,daily',
];
const LATE = ['Ostrel 1,13:00,13:25,daily', 'Ostrel 1,17:30,17:55,daily'];
const SECOND = ['Ostrel 2,10:30,10:55,daily', 'Ostrel 2,15:15,15:40,daily'];
const rows = (...lines: string[]) => `${lines.join('\n')}\n`;

export const GUIDELINES: SampleSource = {
  url: 'https://lakes-authority.example/bathing/guideline-values',
  name: 'Guideline values for lakes',
  agency: 'Lakes Authority (invented)',
  tags: ['water', 'guidelines'],
  mediaType: 'text/html; charset=utf-8',
  versions: [
    { at: '2025-03-03T08:00:00Z', body: guidelines(35, 'every week') },
    { at: '2025-04-07T08:00:00Z', body: guidelines(35, 'every week') },
    { at: '2025-06-02T08:00:00Z', body: guidelines(45, 'every week') },
    {
      at: '2025-09-01T08:00:00Z',
      body: guidelines(45, 'every second week', '<p>The value for phosphorus is being reviewed.</p>\n'),
    },
  ],
};

export const FERRY: SampleSource = {
  url: 'https://ostrel-ferry.example/timetable.csv',
  name: 'Timetable of the ferries on Lake Ostrel',
  agency: 'Ostrel Ferry Company (invented)',
  tags: ['ferry', 'timetable'],
  mediaType: 'text/csv; charset=utf-8',
  versions: [
    { at: '2025-03-03T08:05:00Z', body: rows(...TIMETABLE, ...LATE) },
    { at: '2025-04-14T08:05:00Z', body: rows(...TIMETABLE, ...SECOND, ...LATE) },
    { at: '2025-10-06T08:05:00Z', body: rows(...TIMETABLE, SECOND[0] ?? '', ...LATE) },
  ],
};

/** Whose captures they are. */
export const OBSERVER = 'Web archive of the sample';

export const CASE = {
  title: 'Did the second ferry cloud the lake?',
  description:
    'What the ferry company and the authority published, and what was measured, in order. It is an example of a case: a list of events and packs with a note on each.',
  notes: {
    second: 'The second ferry appears in the timetable.',
    clarity: 'The measurements of the two summers show no difference.',
    replication: 'People on the other shore find the same.',
    guideline: 'Meanwhile the authority raised the value for phosphorus without saying so.',
  },
};

/** Returns a WARC 1.1 file with all versions of these sources. */
export function warcOf(sources: readonly SampleSource[]): Buffer {
  const records = sources.flatMap(({ url, mediaType, versions }, at) =>
    versions.map(({ at: date, body }, version) => {
      const bytes = Buffer.byteLength(body);
      const block = `HTTP/1.1 200 OK\r\nContent-Type: ${mediaType}\r\nContent-Length: ${bytes}\r\n\r\n${body}`;
      const id = `00000000-0000-4000-8000-0000000000${at}${version}`;
      return [
        'WARC/1.1',
        'WARC-Type: response',
        `WARC-Target-URI: ${url}`,
        `WARC-Date: ${date}`,
        `WARC-Record-ID: <urn:uuid:${id}>`,
        'Content-Type: application/http; msgtype=response',
        `Content-Length: ${Buffer.byteLength(block)}`,
        '',
        `${block}\r\n\r\n`,
      ].join('\r\n');
    }),
  );
  return Buffer.from(records.join(''));
}
