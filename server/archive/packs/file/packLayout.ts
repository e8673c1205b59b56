import { filePathFault, pathConflicts } from '../../../../shared/filePath.ts';
import { CRATE_FILE, DECLARATION_FILE, INFO_FILE, PAYLOAD_FOLDER, RECORD_FILE } from '../bag/bag.ts';
import { ALGORITHMS, manifestKind } from '../bag/manifest.ts';
import type { ZipMember } from '../zip/openZip.ts';
import { refuse } from '../zip/readBytesAt.ts';

/** The files of a pack file by what they are; folders are left out, they say nothing. */
export interface PackLayout {
  /** Whether it is a bag; else a bare ZIP of `pack.json` and `data/`. */
  isBag: boolean;
  /** The folder that it lies in, with its slash, or nothing. */
  root: string;
  /** By name, such as `pack.json`. */
  tagFiles: Map<string, ZipMember>;
  /** By the path below `data/`, as the record has it. */
  payload: Map<string, ZipMember>;
}

/**
 * Sorts the members of a ZIP into those of a pack file. The pack may lie at the top or in one folder of any name:
 * people rename folders, and the record says by itself which pack it is.
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
      refuse('unknown_entry', `${JSON.stringify(member.name)} lies outside the folder of the pack.`);
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
  if (!layout.tagFiles.has(RECORD_FILE)) refuse('invalid_pack_file', 'The pack file holds no pack.json.');
  return layout;
}

/** What comes before the names of the pack's files: nothing, or one folder. */
function rootOf(files: readonly ZipMember[]): string {
  for (const { name } of files) {
    const [, root, file] = /^([^/]+\/)?([^/]+)$/.exec(name) ?? [];
    if (file === RECORD_FILE || file === DECLARATION_FILE) {
      const isAtTop = files.some((other) => other.name === RECORD_FILE || other.name === DECLARATION_FILE);
      return isAtTop ? '' : (root ?? '');
    }
  }
  return refuse('invalid_pack_file', 'The ZIP holds no pack.json, neither at its top nor in its one folder.');
}

/** @throws Problem `unknown_entry` for what is neither payload nor a file that the format names. */
function refuseUnknown(name: string, isBag: boolean): void {
  if (name === 'fetch.txt') {
    refuse('unknown_entry', 'fetch.txt names files that are elsewhere; a pack file holds all of its files.');
  }
  if (name === RECORD_FILE || name === CRATE_FILE) return;
  const manifest = manifestKind(name);
  if (manifest && !Object.hasOwn(ALGORITHMS, manifest.algorithm)) {
    refuse(
      'unknown_entry',
      `${JSON.stringify(name)}: this checksum is not known here; leave the manifest out.`,
    );
  }
  const isOfBag = manifest !== undefined || name === DECLARATION_FILE || name === INFO_FILE;
  if (isOfBag && isBag) return;
  if (isOfBag) refuse('invalid_pack_file', `There is ${name} but no bagit.txt: this is half a bag.`);
  refuse('unknown_entry', `${JSON.stringify(name)} is no file of a pack; data belongs into data/.`);
}

/**
 * Two entries of one name, or of names that a system which ignores case or Unicode forms takes for one, would
 * overwrite each other; so would a file and a folder of one name.
 */
function refuseDuplicates(members: readonly ZipMember[]): void {
  const names = members.map(({ name, folder }) => (folder ? name.slice(0, -1) : name));
  for (const { index, other, kind } of pathConflicts(names)) {
    const [one, two] = [index, other].map((place) => JSON.stringify(members[place]?.name));
    if (kind === 'same') refuse('duplicate_entry', `${two} and ${one} are one name.`);
    if (!members[index]?.folder) refuse('duplicate_entry', `${one} is both a file and a folder.`);
  }
}
