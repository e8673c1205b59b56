import { filePathFault, pathConflicts } from '../../../../shared/archive/filePath.ts';
import { CRATE_FILE, DECLARATION_FILE, INFO_FILE, PAYLOAD_FOLDER, RECORD_FILE } from '../bag/bag.ts';
import { ALGORITHMS, manifestKind } from '../bag/manifest.ts';
import type { ZipMember } from '../zip/openZip.ts';
import { refuse } from '../zip/readBytesAt.ts';

/** The files of a pack file, sorted into tag files and payload. Folders are ignored. */
export interface PackLayout {
  /** Whether it is a bag. Otherwise it is a plain ZIP of `pack.json` and `data/`. */
  isBag: boolean;
  /** The folder that contains the pack, with a trailing slash, or an empty string. */
  root: string;
  /** By name, such as `pack.json`. */
  tagFiles: Map<string, ZipMember>;
  /** By the path below `data/`, as in the record. */
  payload: Map<string, ZipMember>;
}

/**
 * Sorts the members of a ZIP into the parts of a pack file. The pack may be at the top level or in one folder with any
 * name, because people rename folders and the record identifies the pack.
 *
 * @throws Problem `duplicate_entry`, `unknown_entry`, `unsafe_path`, or `invalid_pack_file` without a record.
 */
export function packLayout(members: readonly ZipMember[]): PackLayout {
  refuseDuplicates(members);
  const files = members.filter(({ folder }) => !folder);
  const root = rootOf(files);
  const layout: PackLayout = { isBag: false, root, tagFiles: new Map(), payload: new Map() };
  for (const member of files) {
    if (!member.name.startsWith(root)) {
      refuse('unknown_entry', `${JSON.stringify(member.name)} is outside the folder of the pack.`);
    }
    const name = member.name.slice(root.length);
    if (name.startsWith(PAYLOAD_FOLDER)) {
      const path = name.slice(PAYLOAD_FOLDER.length);
      const fault = filePathFault(path);
      if (fault) refuse('unsafe_path', `${JSON.stringify(name)}: ${fault}`, { path: name });
      layout.payload.set(path, member);
    } else {
      layout.tagFiles.set(name, member);
    }
  }
  layout.isBag = layout.tagFiles.has(DECLARATION_FILE);
  for (const name of layout.tagFiles.keys()) refuseUnknown(name, layout.isBag);
  if (!layout.tagFiles.has(RECORD_FILE))
    refuse('invalid_pack_file', 'The pack file does not contain pack.json.');
  return layout;
}

/** Returns the common prefix of the pack's files: empty, or one folder. */
function rootOf(files: readonly ZipMember[]): string {
  for (const { name } of files) {
    const [, root, file] = /^([^/]+\/)?([^/]+)$/.exec(name) ?? [];
    if (file === RECORD_FILE || file === DECLARATION_FILE) {
      const isAtTop = files.some((other) => other.name === RECORD_FILE || other.name === DECLARATION_FILE);
      return isAtTop ? '' : (root ?? '');
    }
  }
  return refuse(
    'invalid_pack_file',
    'The ZIP does not contain pack.json at its top level or in its single folder.',
  );
}

/** @throws Problem `unknown_entry` for a file that is neither payload nor defined by the format. */
function refuseUnknown(name: string, isBag: boolean): void {
  if (name === 'fetch.txt') {
    refuse(
      'unknown_entry',
      'fetch.txt refers to files elsewhere, but a pack file must contain all its files.',
    );
  }
  if (name === RECORD_FILE || name === CRATE_FILE) return;
  const manifest = manifestKind(name);
  if (manifest && !Object.hasOwn(ALGORITHMS, manifest.algorithm)) {
    refuse(
      'unknown_entry',
      `${JSON.stringify(name)}: this checksum algorithm is not supported. Remove the manifest.`,
    );
  }
  const isBagFile = manifest !== undefined || name === DECLARATION_FILE || name === INFO_FILE;
  if (isBagFile && isBag) return;
  if (isBagFile) refuse('invalid_pack_file', `There is ${name} but no bagit.txt, so the bag is incomplete.`);
  refuse('unknown_entry', `${JSON.stringify(name)} is not a file of a pack. Put data files into data/.`);
}

/**
 * Refuses entries that would overwrite each other: entries with the same name, also if it differs only in case or Unicode
 * normalization, and a file and a folder with the same name.
 */
function refuseDuplicates(members: readonly ZipMember[]): void {
  const names = members.map(({ name, folder }) => (folder ? name.slice(0, -1) : name));
  for (const { index, other, kind } of pathConflicts(names)) {
    const [one, two] = [index, other].map((place) => JSON.stringify(members[place]?.name));
    if (kind === 'same') refuse('duplicate_entry', `${two} and ${one} are the same name.`);
    if (!members[index]?.folder) refuse('duplicate_entry', `${one} is both a file and a folder.`);
  }
}
