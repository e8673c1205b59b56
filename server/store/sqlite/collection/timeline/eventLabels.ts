import type { LabelFilter } from '../../../../../shared/collection/event.ts';
import { type ReadDatabase, statement } from '../../engine/open.ts';

/** Returns a query for the ids of the events with a label, which are few. The parameter is `label`. */
function labelled(label: LabelFilter): string {
  const isOne = label !== 'any' && label !== 'none';
  return `SELECT id FROM events INDEXED BY events_with_label
    WHERE page_label IS NOT NULL ${isOne ? "AND json_extract(page_label, '$.label') = @label" : ''}`;
}

/** Returns the SQL condition of the filter by label on the column `id`. The parameter is `label`. */
export function labelCondition(label: LabelFilter): string {
  return `id ${label === 'none' ? 'NOT IN' : 'IN'} (${labelled(label)})`;
}

/** Returns the ids of the events with a label; with any label for `none`. */
export function labelledEvents(database: ReadDatabase, label: LabelFilter): number[] {
  return statement<number>(database, labelled(label)).pluck().all({ label });
}
