import type { NewSource } from '../../../shared/collection/source.ts';
import type { ListFormat, SourceImport } from '../../../shared/collection/sourceList.ts';
import { Problem } from '../../../shared/problems.ts';
import { instantOf } from '../../../shared/values/clock.ts';
import { runWorker } from '../../runtime/runWorker.ts';
import { workerUrl } from '../../runtime/workerUrl.ts';
import { markUnnamed } from '../../store/sqlite/collection/sources.ts';
import type { WriteDatabase } from '../../store/sqlite/engine/open.ts';
import type { Store } from '../../store/store.ts';
import type { Network } from '../fetch/attempt.ts';
import { PrivateAddressCheck } from './privateSources.ts';
import type { ParsedSourceList } from './sourceList/readSourceList.ts';
import { FIRST_CHECK_DELAY_MS, FIRST_CHECK_SPACING_MS, watchSource } from './sources.ts';

/** The number of sources per transaction. Other reads and writes run between two batches. */
const BATCH = 50;

type Item = SourceImport['items'][number];

/**
 * Adds the sources of a list as if each were added by itself. Sources that are already watched are unchanged. An
 * invalid entry is refused and does not affect the others. The first checks are spread over time.
 *
 * @param everyMinutes the node's default interval.
 * @throws Problem `invalid_list` if the list as a whole cannot be read. Nothing is added then.
 */
export async function importSources(
  { store, network }: { store: Store; network: Network },
  form: ListFormat,
  bytes: Uint8Array,
  everyMinutes: number,
): Promise<SourceImport> {
  const read = await runWorker<{ list: ParsedSourceList } | { refused: string }>(
    workerUrl('sourceList/readSourceList', import.meta.url),
    { form, bytes },
  );
  if ('refused' in read) throw new Problem('invalid_list', read.refused);
  const { entries, ignoredColumns } = read.list;
  const privateAddresses = new PrivateAddressCheck(network, entries.length);
  const items: Item[] = [];
  for (let start = 0; start < entries.length; start += BATCH) {
    const batch = entries.slice(start, start + BATCH);
    const allowsPrivateAddress = await Promise.all(
      batch.map(async (entry) => 'source' in entry && (await privateAddresses.allows(entry.url))),
    );
    const written = await store.write((database) =>
      batch.map((entry, index): Item => {
        const { line, url } = entry;
        if ('detail' in entry)
          return { line, url, outcome: 'refused', code: 'invalid_field', detail: entry.detail };
        const position = { index: start + index, count: entries.length };
        const nextCheck = firstCheck(store, entry.source.every_minutes ?? everyMinutes, position);
        const allowPrivate = allowsPrivateAddress[index] ?? false;
        return { line, url, ...added(database, store, entry.source, nextCheck, allowPrivate) };
      }),
    );
    items.push(...written);
  }
  const count = (outcome: Item['outcome']) => items.filter((item) => item.outcome === outcome).length;
  return {
    added: count('added'),
    already: count('already'),
    refused: count('refused'),
    ignored_columns: ignoredColumns,
    items,
  };
}

/** Returns when an entry is first checked: in a minute, plus a delay by its position that is at most one interval. */
function firstCheck(
  { clock }: Pick<Store, 'clock'>,
  everyMinutes: number,
  { index, count }: { index: number; count: number },
): string {
  const spread = Math.min(everyMinutes * 60_000, count * FIRST_CHECK_SPACING_MS);
  return instantOf(clock.now() + FIRST_CHECK_DELAY_MS + Math.floor((index / count) * spread));
}

function added(
  database: WriteDatabase,
  store: Store,
  source: NewSource,
  nextCheck: string,
  allowPrivate: boolean,
): Pick<Item, 'outcome' | 'source' | 'code' | 'detail'> {
  try {
    const { id, key, name } = watchSource(database, store, source, nextCheck, allowPrivate);
    if (name === '') markUnnamed(database, key);
    return { outcome: 'added', source: id };
  } catch (error) {
    // `watchSource` throws a Problem before it writes anything.
    if (!(error instanceof Problem)) throw error;
    if (error.code === 'source_exists')
      return { outcome: 'already', source: String(error.extra.members?.source) };
    return { outcome: 'refused', code: error.code, detail: error.message };
  }
}
