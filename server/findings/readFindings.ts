import type {
  Finding,
  FindingDetails,
  FindingsFilter,
  FindingsQuery,
} from '../../shared/findings/finding.ts';
import { Problem } from '../../shared/problems.ts';
import type { Slice } from '../../shared/values/list.ts';
import type { ReadDatabase } from '../store/sqlite/engine/open.ts';
import { matchExpression } from '../store/sqlite/engine/search.ts';
import {
  type FindingSelection,
  findingById,
  historyOf,
  selectFindings,
  selectFindingTags,
} from '../store/sqlite/findings/findings.ts';
import type { Store } from '../store/store.ts';

const MAX_TAGS = 500;

/** @throws Problem `not_found` */
export function requireFinding(database: ReadDatabase, id: string): Finding {
  const finding = findingById(database, id);
  if (!finding) throw new Problem('not_found', `There is no finding ${id}.`);
  return finding;
}

/** Returns a finding with its other versions. @throws Problem `not_found` */
export function readFinding({ read }: Pick<Store, 'read'>, id: string): FindingDetails {
  return read.transaction(() => ({ ...requireFinding(read, id), history: historyOf(read, id) })).deferred();
}

/** Returns a page of findings, newest first. @throws Problem `invalid_parameter` */
export function listFindings({ read }: Pick<Store, 'read'>, query: FindingsQuery): Slice<Finding> {
  return read.transaction(() => selectFindings(read, selectionOf(query), query)).deferred();
}

/** Returns the most frequent tags of current findings. */
export function listFindingTags({ read }: Pick<Store, 'read'>): {
  tags: { tag: string; findings: number }[];
} {
  return { tags: selectFindingTags(read, MAX_TAGS) };
}

/** @throws Problem `invalid_parameter` if more than one target is given */
export function selectionOf({ q, tag, event, object, pack, state }: FindingsFilter): FindingSelection {
  const targets = [
    event === undefined ? [] : { kind: 'event' as const, id: String(event) },
    object === undefined ? [] : { kind: 'object' as const, id: object },
    pack === undefined ? [] : { kind: 'pack' as const, id: pack },
  ].flat();
  if (targets.length > 1) throw new Problem('invalid_parameter', 'Give only one of event, object and pack.');
  return { match: q === undefined ? undefined : matchExpression(q), tag, target: targets[0], state };
}
