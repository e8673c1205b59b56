import type {
  HandIn,
  HandInDetails,
  HandInPart,
  RecordedHandIn,
} from '../../../shared/collection/handedIn.ts';
import { Problem } from '../../../shared/problems.ts';
import { appendEntry } from '../../ledger/appendEntry.ts';
import { fingerprintOf } from '../../ledger/entry.ts';
import type { StagedBlob } from '../../store/blobs/staging.ts';
import { handInById, insertHandIn } from '../../store/sqlite/collection/handIns.ts';
import { pageById } from '../../store/sqlite/collection/pages.ts';
import { insertRetrieval, type NewRetrieval } from '../../store/sqlite/collection/retrievals.ts';
import type { WriteDatabase } from '../../store/sqlite/engine/open.ts';
import { createBlobRowIfAbsent } from '../../store/sqlite/node/blobs.ts';
import { coverHandIn } from '../../store/sqlite/node/covered.ts';
import { isAnyGivenUp } from '../../store/sqlite/node/withheld.ts';
import type { Store } from '../../store/store.ts';
import { withholdNow } from '../../withholding/withholding.ts';
import { recordVersion } from '../captures/capture.ts';
import type { Texts } from '../derived/derived.ts';
import { decompressJson, type TextContent } from '../derived/process/tasks.ts';
import { readObjectBytes } from '../pages/archiveGate.ts';
import { findOrAddPausedSource, sourceIdOf } from '../sources/sources.ts';
import { httpAddress, type SavedPart } from './readMhtml.ts';

/** What was handed in, with durable bytes. */
export interface HandInToRecord
  extends Pick<
    RecordedHandIn,
    'url' | 'observer' | 'seen_at' | 'kind' | 'title' | 'note' | 'file' | 'picture' | 'page' | 'page_error'
  > {
  document: SavedPart & { staged: StagedBlob };
  parts: readonly SavedPart[];
  isWithheld: boolean;
}

/** Rows are inserted in steps, so that other requests have their turn. */
const ROWS_PER_STEP = 32;

/**
 * Records what was handed in, in a transaction that is open: the retrieval of its document, those of its file and its parts,
 * its ledger entry, and the event if it is another version than the person handed in before. It is withheld before the
 * transaction ends, so that no visitor can read it in between.
 *
 * @throws Problem `released` if it has bytes that were given up for another reason than their age
 */
export function* recordHandIn(
  database: WriteDatabase,
  store: Pick<Store, 'instant' | 'randomHex'>,
  handIn: HandInToRecord,
): Generator<void, HandIn, void> {
  const now = store.instant();
  const { url, observer, seen_at, document, parts, file, picture, isWithheld, ...said } = handIn;
  const held = [document, ...parts].flatMap(({ staged }) => staged?.sha256 ?? []);
  if (isAnyGivenUp(database, [file.sha256, ...(picture ? [picture.sha256] : []), ...held]))
    throw new Problem('released', 'The file has bytes that were given up here. Nothing of it is kept.');
  const id = `hi_${store.randomHex(20)}`;
  const source = findOrAddPausedSource(database, sourceIdOf(url), url, now);
  const row = (bytes: { sha256: string; bytes: number }): NewRetrieval => ({
    source_key: source.key,
    round: null,
    url,
    final_url: url,
    redirects: [],
    observer,
    observed_at: now,
    original_observed_at: seen_at,
    // No server answered this node.
    status: null,
    error: null,
    content_type: null,
    headers: [],
    ...bytes,
    duration_ms: 0,
    page_label: null,
  });
  const partRow = ({ name, content_type, headers }: SavedPart, blob: StagedBlob): NewRetrieval => {
    const claimed = (name === null ? undefined : httpAddress(name)) ?? url;
    return {
      ...row({ sha256: blob.sha256, bytes: blob.bytes }),
      url: claimed,
      final_url: claimed,
      content_type,
      headers,
      part_of: id,
    };
  };
  createBlobRowIfAbsent(database, { sha256: file.sha256, bytes: file.bytes, stored_at: now });
  const { sha256, bytes } = document.staged;
  createBlobRowIfAbsent(database, { sha256, bytes, stored_at: now });
  const retrieval = insertRetrieval(database, {
    ...row({ sha256, bytes }),
    content_type: document.content_type,
    headers: document.headers,
  });
  const insertFile = (part: RecordedHandIn['file']) =>
    insertRetrieval(database, {
      ...row({ sha256: part.sha256, bytes: part.bytes }),
      content_type: part.media_type,
      part_of: id,
    });
  // The file comes first, then the picture, then the other parts. A file that is the document itself has none.
  if (file.sha256 !== sha256) insertFile(file);
  if (picture) {
    createBlobRowIfAbsent(database, { sha256: picture.sha256, bytes: picture.bytes, stored_at: now });
    insertFile(picture);
  }
  for (const [index, part] of parts.entries()) {
    if (index % ROWS_PER_STEP === ROWS_PER_STEP - 1) yield;
    if (!part.staged || part.staged === document.staged) continue;
    createBlobRowIfAbsent(database, {
      sha256: part.staged.sha256,
      bytes: part.staged.bytes,
      stored_at: now,
    });
    insertRetrieval(database, partRow(part, part.staged));
  }
  const record: RecordedHandIn = {
    id,
    source: source.id,
    retrieval,
    observer,
    url,
    seen_at,
    handed_in_at: now,
    ...said,
    file,
    ...(picture && { picture }),
    document: sha256,
    parts: parts.map(listedPart),
  };
  const { seq } = appendEntry(database, {
    type: 'page.handed_in',
    subject: id,
    digest: fingerprintOf(record),
    at: now,
  });
  insertHandIn(database, { ...record, source_key: source.key, ledger_entry: seq });
  // Its file has the bytes of its parts, one of which may be withheld.
  coverHandIn(database, seq);
  if (isWithheld) withholdNow(database, { retrieval, reason: 'login' }, now);
  recordVersion(database, now, source, {
    source_key: source.key,
    retrieval,
    observer,
    observed_at: now,
    original_observed_at: seen_at,
    sha256,
    page_label: null,
  });
  const handed = handInById(database, id);
  if (!handed) throw new TypeError('What was handed in was not stored.');
  return handed;
}

function listedPart({ name, content_id, content_type, staged }: SavedPart): HandInPart {
  return { name, content_id, content_type, sha256: staged?.sha256 ?? null, bytes: staged?.bytes ?? 0 };
}

/** A page of what was handed in, newest first. */
export { handInsPage as listHandIns } from '../../store/sqlite/collection/handIns.ts';

export interface ComparisonServices {
  store: Store;
  texts: Texts;
}

/** Texts are compared up to this many characters each. */
const MAX_CHARACTERS = 1_000_000;
const MAX_TEXT_BYTES = 16_777_216;
const MAX_SHARED = 5_000;

/**
 * Reads what was handed in, beside what the public got. Only the owner reads it.
 *
 * @throws Problem `not_found`, `derivation_busy`, `copy_unreachable`
 */
export async function readHandIn({ store, texts }: ComparisonServices, id: string): Promise<HandInDetails> {
  const handIn = handInById(store.read, id);
  if (!handIn) throw new Problem('not_found', 'Nothing with this id was handed in.');
  const page = handIn.page === null ? undefined : pageById(store.read, handIn.page);
  if (!page) return { ...handIn, comparison: null };
  const [seen, shown] = await Promise.all([
    textOfDocument(texts, handIn.document),
    textOfPage(store, page.text),
  ]);
  return { ...handIn, comparison: { page, ...compareBlocks(seen, shown) } };
}

async function textOfDocument(texts: Texts, document: string): Promise<string> {
  const { content } = await texts.textOf(document);
  return content === null ? '' : (JSON.parse(await decompressJson(content)) as TextContent).text;
}

async function textOfPage(store: Pick<Store, 'read' | 'blobs'>, sha256: string): Promise<string> {
  return (await readObjectBytes(store, sha256, MAX_TEXT_BYTES))?.toString() ?? '';
}

/** Compares two texts block by block. Blocks that differ only in white space are the same. */
function compareBlocks(
  seen: string,
  shown: string,
): Pick<NonNullable<HandInDetails['comparison']>, 'shared' | 'only_handed_in' | 'only_public' | 'truncated'> {
  const handedIn = blocksOf(seen);
  const ofPublic = blocksOf(shown);
  const shared = [...handedIn.intersection(ofPublic)];
  return {
    shared: shared.slice(0, MAX_SHARED),
    only_handed_in: handedIn.size - shared.length,
    only_public: ofPublic.size - shared.length,
    truncated: seen.length > MAX_CHARACTERS || shown.length > MAX_CHARACTERS || shared.length > MAX_SHARED,
  };
}

function blocksOf(text: string): Set<string> {
  return new Set(
    text
      .slice(0, MAX_CHARACTERS)
      .split(/[\n\f]/)
      .map((line) => line.replace(/\s+/g, ' ').trim())
      .filter((line) => line !== ''),
  );
}
