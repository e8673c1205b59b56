import { LICENSES } from '../../../shared/archive/vocabulary.ts';
import { allTreeNodes } from '../../store/sqlite/archive/treeNodes.ts';
import type { ReadDatabase } from '../../store/sqlite/engine/open.ts';
import { LICENSES_CITED } from '../citations/datacite.ts';

export interface HarvestSet {
  spec: string;
  name: string;
}

/** Every set: one for each licence, and the tree of subjects, each subject below the one that it hangs from. */
export function allSets(database: ReadDatabase): HarvestSet[] {
  return [
    { spec: 'license', name: 'Packs by licence' },
    ...LICENSES.map((license) => ({ spec: `license:${license}`, name: LICENSES_CITED[license].rights })),
    { spec: 'subject', name: 'Packs by subject' },
    ...allTreeNodes(database).map(({ path, title }) => ({ spec: subjectSet(path), name: title })),
  ];
}

/** The narrowest sets that a pack belongs to; it is in those above them too. */
export function packSets({ license, node }: { license: string; node: string | null }): string[] {
  return [`license:${license}`, ...(node === null ? [] : [subjectSet(node)])];
}

function subjectSet(path: string): string {
  return ['subject', ...path.split('/')].join(':');
}
