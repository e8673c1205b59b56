import { createHash } from 'node:crypto';
import { bagOf } from '../../../server/archive/packs/bag/bag.ts';
import { type PackRecord, type PackRecordInput, packRecordSchema } from '../../../shared/archive/pack.ts';
import { type Files, filesOf, sampleRecord } from './packs.ts';
import { type BuiltEntry, buildZip } from './zipBuilder.ts';

export const SAMPLE_FILES: Files = {
  'readings/north.csv': 'time,level\n1,2.5\n',
  'readings/süd.csv': 'time,level\n1,2.75\n',
  'notes.txt': 'Measured by hand.\n',
};

/** Returns a complete record for these files. */
export function recordFor(files: Files, fields: Partial<PackRecordInput> = {}): PackRecord {
  return packRecordSchema.parse(sampleRecord({ files: filesOf(files), ...fields }));
}

/** A record with a value in every field. */
export const FULL_RECORD = recordFor(SAMPLE_FILES, {
  title: 'Tide levels,\r\nnorth and south',
  summary: 'Two stations.',
  authors: [
    { name: 'Ada Øst', orcid: '0000-0002-1825-0097', affiliation: 'Harbour Office' },
    { name: 'Bo', affiliation: 'Harbour Office' },
  ],
  keywords: ['tide', 'level'],
  results: { mean: 2.625, stations: 2, remark: 'calm', trend: null },
  related: [
    { relation: 'IsDerivedFrom', identifier: '10.1234/abc' },
    { relation: 'Cites', identifier: 'https://example.org/a b' },
    { relation: 'References', identifier: `sha256:${'ab'.repeat(32)}` },
  ],
  supersedes: `pk_${'12'.repeat(10)}`,
});

/** Returns the entries of a valid bag in a folder, for a test to change. */
export function bagEntries(files: Files = SAMPLE_FILES, record = recordFor(files)): BuiltEntry[] {
  const { id, tagFiles } = bagOf(record);
  return [
    ...tagFiles.map(({ name, bytes }) => ({ name: `${id}/${name}`, data: bytes })),
    ...Object.entries(files).map(([path, data]) => ({ name: `${id}/data/${path}`, data: Buffer.from(data) })),
  ];
}

/** Returns the entries of a valid ZIP without a bag. */
export function bareEntries(files: Files = SAMPLE_FILES, record: unknown = recordFor(files)): BuiltEntry[] {
  return [
    { name: 'pack.json', data: JSON.stringify(record) },
    ...Object.entries(files).map(([path, data]) => ({ name: `data/${path}`, data: Buffer.from(data) })),
  ];
}

/** Changes the entries whose name ends with `nameEnd`. */
export function changed(
  entries: readonly BuiltEntry[],
  nameEnd: string,
  change: (entry: BuiltEntry) => Partial<BuiltEntry>,
): BuiltEntry[] {
  return entries.map((entry) =>
    entry.name.toString().endsWith(nameEnd) ? { ...entry, ...change(entry) } : entry,
  );
}

/** Recomputes the tag manifest after tag files were changed. */
export function withTagManifest(entries: readonly BuiltEntry[], algorithm = 'sha256'): BuiltEntry[] {
  const name = `tagmanifest-${algorithm}.txt`;
  const root = /^[^/]+\//.exec(entries[0]?.name.toString() ?? '')?.[0] ?? '';
  const tagFiles = entries.filter(({ name: file }) => !/\/data\/|\/tagmanifest-/.test(file.toString()));
  const lines = tagFiles.map(({ name: file, data = '' }) => {
    const digest = createHash(algorithm).update(data).digest('hex');
    return `${digest}  ${file.toString().slice(root.length)}\n`;
  });
  const rest = entries.filter((entry) => !entry.name.toString().endsWith(name));
  return [...rest, { name: root + name, data: lines.join('') }];
}

/** Returns the text of the payload manifest. */
export function manifestOf(files: Files, algorithm: string): string {
  const digest = (data: string | Uint8Array) => createHash(algorithm).update(data).digest('hex');
  return Object.entries(files)
    .map(([path, data]) => `${digest(data)}  data/${path}\n`)
    .join('');
}

/** A valid bag, and the name of its folder. */
export const BAG: readonly BuiltEntry[] = bagEntries();
export const ROOT = `${BAG[0]?.name.toString().split('/')[0]}/`;
export const VALID_PACK_FILE = buildZip(BAG);
export const DIRECTORY_START = VALID_PACK_FILE.length - 22 - directoryBytes(BAG);

/** Returns the length of the central directory for these entries. */
export function directoryBytes(entries: readonly BuiltEntry[]): number {
  return entries.reduce((sum, { name }) => sum + 46 + Buffer.from(name).length, 0);
}

/** Returns the valid bag with an additional entry. */
export function plus(entry: BuiltEntry): BuiltEntry[] {
  return [...BAG, entry];
}

/** Returns the valid bag with one entry changed. */
export function withChangedEntry(nameEnd: string, entry: Partial<BuiltEntry>): BuiltEntry[] {
  return changed(BAG, nameEnd, () => entry);
}

/** Returns the valid bag without one entry. */
export function without(nameEnd: string): BuiltEntry[] {
  return BAG.filter(({ name }) => !name.toString().endsWith(nameEnd));
}

/** Returns the valid bag with an additional tag file, which the tag manifest lists. */
export function tagFile(name: string, data: string | Buffer): BuiltEntry[] {
  return withTagManifest(plus({ name: ROOT + name, data }));
}

/** Returns the valid bag with one tag file changed, and the tag manifest to match. */
export function withTagFile(name: string, change: (text: string) => string | Buffer): BuiltEntry[] {
  return withTagManifest(changed(BAG, `/${name}`, ({ data = '' }) => ({ data: change(data.toString()) })));
}

export function manifestWith(change: (text: string) => string | Buffer): BuiltEntry[] {
  return withTagFile('manifest-sha256.txt', change);
}
