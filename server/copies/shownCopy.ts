import { type Copy, type RestoreDrill, restoreDrillSchema } from '../../shared/node/copy.ts';
import { type CopyRow, holdsWithheldKey } from '../store/sqlite/node/copies.ts';

/** A copy as the interface shows it. What it is written with stays here. */
export function asCopy(
  row: CopyRow,
  {
    newest,
    key,
    ...known
  }: { newest: number; key: string } & Pick<
    Copy,
    | 'has_credentials'
    | 'paused'
    | 'withheld_left_out'
    | 'withheld_in_no_copy'
    | 'withheld_in_the_clear'
    | 'withheld_encrypted'
  >,
): Copy {
  const { id, target, endpoint, region, every_minutes, public_url, added_at, synced_at, checked_at } = row;
  return {
    id,
    target,
    endpoint,
    region,
    every_minutes,
    public_url,
    added_at,
    synced_at,
    checked_at,
    ...known,
    pages: row.pages === 1,
    has_key: row.kept_key === key,
    has_withheld_key: holdsWithheldKey(row),
    withheld_cleaned: row.withheld_cleaned,
    size: row.synced_size,
    behind: Math.max(0, newest - row.synced_size),
    last_error: row.last_error,
    last_drill: asDrill(row.last_drill),
    proven: asDrill(row.proven_drill),
  };
}

function asDrill(json: string | null): RestoreDrill | null {
  return json === null ? null : restoreDrillSchema.parse(JSON.parse(json));
}
