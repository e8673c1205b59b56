import type { Finding, FindingTarget, NewFinding, RecordedFinding } from '../../shared/findings/finding.ts';
import { Problem } from '../../shared/problems.ts';
import { appendEntry } from '../ledger/appendEntry.ts';
import type { WriteDatabase } from '../store/sqlite/engine/open.ts';
import { findingById, insertFinding, isObjectOf, targetText } from '../store/sqlite/findings/findings.ts';
import type { Store } from '../store/store.ts';
import { requireFinding } from './readFindings.ts';
import { findingDigest } from './recordedSubjects.ts';

/**
 * Records a finding.
 *
 * @throws Problem `unknown_target` if the archive does not hold the target, or the quoted object does not belong to it;
 * `unknown_finding`, `finding_superseded` for `supersedes`
 */
export async function addFinding(store: Store, added: NewFinding): Promise<Finding> {
  const id = `fi_${store.randomHex(20)}`;
  return store.write((database) => {
    const found = requireTarget(database, added.target);
    const { sha256 } = added.passage ?? {};
    if (sha256 && !isObjectOf(database, added.target, sha256))
      throw refused('unknown_target', '/passage/sha256', `${sha256} is no object of this target.`);
    requireSupersedable(database, added);
    return record(database, { ...added, id, at: store.instant(), withdrawal: null }, found);
  });
}

/** Withdraws a finding with a reason. @throws Problem `not_found`, `finding_superseded` */
export async function withdrawFinding(store: Store, withdrawn: string, reason: string): Promise<Finding> {
  const id = `fi_${store.randomHex(20)}`;
  return store.write((database) => {
    const { target, ...finding } = requireFinding(database, withdrawn);
    requireCurrent(finding);
    const recorded = {
      id,
      at: store.instant(),
      target,
      text: '',
      tags: [],
      passage: null,
      supersedes: withdrawn,
      withdrawal: reason,
    };
    return record(database, recorded, targetText(database, target) ?? target.id);
  });
}

function record(database: WriteDatabase, recorded: RecordedFinding, found: string): Finding {
  const { id, at, withdrawal } = recorded;
  const { seq } = appendEntry(database, {
    type: withdrawal === null ? 'finding.added' : 'finding.withdrawn',
    subject: id,
    digest: findingDigest(recorded),
    at,
  });
  insertFinding(database, { ...recorded, ledger_entry: seq }, found);
  return requireFinding(database, id);
}

function requireTarget(database: WriteDatabase, target: FindingTarget): string {
  const found = targetText(database, target);
  if (found === undefined)
    throw refused('unknown_target', '/target/id', `The archive has no ${target.kind} ${target.id}.`);
  return found;
}

function requireSupersedable(database: WriteDatabase, { supersedes, target }: NewFinding): void {
  if (supersedes === null) return;
  const superseded = findingById(database, supersedes);
  if (!superseded) throw refused('unknown_finding', '/supersedes', `There is no finding ${supersedes}.`);
  if (superseded.target.kind !== target.kind || superseded.target.id !== target.id)
    throw refused('unknown_finding', '/supersedes', 'That finding is about something else.');
  requireCurrent(superseded);
}

function requireCurrent({ id, superseded_by, withdrawal }: Omit<Finding, 'target'>): void {
  if (superseded_by !== null)
    throw new Problem('finding_superseded', `${superseded_by} supersedes ${id} already. Continue with that.`);
  if (withdrawal !== null)
    throw new Problem('finding_superseded', `${id} is a withdrawal. Add a new finding instead.`);
}

function refused(code: 'unknown_target' | 'unknown_finding', path: string, message: string): Problem {
  return new Problem(code, message, { errors: [{ path, message }] });
}
