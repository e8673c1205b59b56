import { LICENSES } from '../../../shared/archive/vocabulary.ts';
import { type IndexedSet, packsWithSubject, packsWithValue } from '../../store/sqlite/archive/harvest.ts';
import { allTreeNodes } from '../../store/sqlite/archive/treeNodes.ts';
import type { ReadDatabase } from '../../store/sqlite/engine/open.ts';
import { LICENSES_CITED } from '../citations/datacite.ts';

export interface HarvestSet {
  spec: string;
  name: string;
}

/** Returns all sets: one for each licence, and the tree of subjects, each below its parent. */
export function allSets(database: ReadDatabase): HarvestSet[] {
  return [
    { spec: 'license', name: 'Packs by licence' },
    ...LICENSES.map((license) => ({ spec: `license:${license}`, name: LICENSES_CITED[license].rights })),
    { spec: 'subject', name: 'Packs by subject' },
    ...allTreeNodes(database).map(({ path, title }) => ({ spec: subjectSet(path), name: title })),
  ];
}

/** Returns the packs of a set; undefined if every pack belongs to it. */
export function indexedPacks(database: ReadDatabase, set: string): IndexedSet | undefined {
  const [kind, ...path] = set.split(':');
  const value = path.join('/');
  if (kind === 'license') return value === '' ? undefined : packsWithValue(database, 'license', value);
  if (kind !== 'subject') return { values: [], packs: 0 };
  return value === '' ? packsWithSubject(database) : packsWithValue(database, 'node', value);
}

/** Returns the most specific sets of a pack. It also belongs to their parents. */
export function packSets({ license, node }: { license: string; node: string | null }): string[] {
  return [`license:${license}`, ...(node === null ? [] : [subjectSet(node)])];
}

function subjectSet(path: string): string {
  return ['subject', ...path.split('/')].join(':');
}
