import { compareByUtf8 } from '../../../shared/archive/filePath.ts';
import { type Pack, type PackFile, type PackRecord, packRecordSchema } from '../../../shared/archive/pack.ts';
import type {
  ChangedField,
  ComparedFile,
  ComparedPack,
  FileChange,
  PackComparison,
} from '../../../shared/archive/packComparison.ts';
import { Problem } from '../../../shared/problems.ts';
import { canonicalText } from '../../../shared/values/canonicalJson.ts';
import type { ReadDatabase } from '../../store/sqlite/engine/open.ts';
import type { Store } from '../../store/store.ts';
import { readPack } from './readPack.ts';

/**
 * Returns the differences from one pack to another: fields of the record, and files by path, digest and media type.
 *
 * @throws Problem `not_found`
 */
export function comparePacks({ read }: Pick<Store, 'read'>, from: string, to: string): PackComparison {
  const [before, after] = readBoth(read, from, to);
  const files = compareFiles(before.files, after.files);
  const count = (change: FileChange) => files.filter((file) => file.change === change).length;
  return {
    from: summaryOf(before),
    to: summaryOf(after),
    record: changedFields(before, after),
    counts: {
      added: count('added'),
      changed: count('changed'),
      removed: count('removed'),
      same: count('same'),
    },
    files,
  };
}

/**
 * Returns the two files that packs have at one path.
 *
 * @throws Problem `not_found`, `nothing_to_compare` if only one has it or both are the same bytes.
 */
export function filesToCompare(
  { read }: Pick<Store, 'read'>,
  from: string,
  to: string,
  path: string,
): { from: PackFile; to: PackFile } {
  const [before, after] = readBoth(read, from, to);
  const at = (pack: Pack) => pack.files.find((file) => file.path === path);
  const files = { from: at(before), to: at(after) };
  if (!files.from && !files.to) throw new Problem('not_found', `Neither pack has a file at ${path}.`);
  if (!files.from || !files.to) {
    throw new Problem('nothing_to_compare', `Only one of the two packs has a file at ${path}.`);
  }
  if (files.from.sha256 === files.to.sha256) {
    throw new Problem('nothing_to_compare', `The file at ${path} is the same in both packs.`);
  }
  return { from: files.from, to: files.to };
}

function readBoth(database: ReadDatabase, from: string, to: string): [Pack, Pack] {
  return database
    .transaction((): [Pack, Pack] => [readPack(database, from), readPack(database, to)])
    .deferred();
}

function summaryOf({ id, title, digest, evidence }: Pack): ComparedPack {
  return { id, title, version: evidence.version, digest, received_at: evidence.received_at };
}

function changedFields(before: PackRecord, after: PackRecord): ChangedField[] {
  const fields = Object.keys(packRecordSchema.shape).filter((field) => field !== 'files');
  return fields.flatMap((field) => {
    const sides = { before: before[field as keyof PackRecord], after: after[field as keyof PackRecord] };
    if (canonicalText(sides.before) === canonicalText(sides.after)) return [];
    return [{ field, ...(sides as Omit<ChangedField, 'field'>) }];
  });
}

function compareFiles(before: readonly PackFile[], after: readonly PackFile[]): ComparedFile[] {
  const [older, newer] = [byPath(before), byPath(after)];
  const paths = [...new Set([...older.keys(), ...newer.keys()])].sort(compareByUtf8);
  return paths.map((path) => {
    const sides = { before: older.get(path) ?? null, after: newer.get(path) ?? null };
    return { path, change: changeOf(sides), ...sides };
  });
}

function byPath(files: readonly PackFile[]) {
  return new Map(files.map(({ path, ...side }) => [path, side]));
}

function changeOf({ before, after }: Pick<ComparedFile, 'before' | 'after'>): FileChange {
  if (before === null) return 'added';
  if (after === null) return 'removed';
  const isSame = before.sha256 === after.sha256 && before.media_type === after.media_type;
  return isSame ? 'same' : 'changed';
}
