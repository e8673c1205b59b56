import type { z } from 'zod';
import { findingDigest } from '../findings/recordedSubjects.ts';
import { type DumpedArchive, requireThat } from './dumpedArchive.ts';
import { kind, type LineKind, recorded } from './lineKind.ts';
import * as lines from './lineSchemas.ts';

/** The kinds of lines of findings and cases. */
export const FINDING_KINDS: Record<string, LineKind> = {
  finding: recorded(
    lines.findingLine,
    ['finding.added', 'finding.withdrawn'],
    ({ kind: _kind, ledger_entry: _entry, ...finding }) => findingDigest(finding),
    checkFinding,
  ),
  // No entry covers a case: it is the owner's list of what the ledger covers.
  case: kind(
    lines.caseLine,
    ({ key }) => key,
    (archive, { id, items }, line) => {
      requireThat(!archive.cases.has(id), 'an earlier line defines a case with this id.', line);
      for (const item of items)
        requireThat(holds(archive, item), 'no earlier line defines one of its items.', line);
      archive.cases.add(id);
    },
  ),
};

/** An object is named by its digest. Whether the archive has its bytes is not part of a dump. */
function checkFinding(
  archive: DumpedArchive,
  { id, target, supersedes, withdrawal, ledger_entry }: z.output<typeof lines.findingLine>,
  line: number,
): void {
  const type = withdrawal === null ? 'finding.added' : 'finding.withdrawn';
  requireThat(archive.ledger.typeOf(ledger_entry) === type, 'its kind is not that of its entry.', line);
  requireThat(
    target.kind === 'object' || holds(archive, target),
    'no earlier line defines its target.',
    line,
  );
  requireThat(!archive.findings.has(id), 'an earlier line defines a finding with this id.', line);
  const name = `${target.kind} ${target.id}`;
  requireThat(
    supersedes === null ? withdrawal === null : archive.findings.get(supersedes) === name,
    'it supersedes no current finding about its target.',
    line,
  );
  if (supersedes !== null) archive.findings.set(supersedes, undefined);
  archive.findings.set(id, withdrawal === null ? name : undefined);
}

function holds(archive: DumpedArchive, { kind: of, id }: { kind: string; id: string }): boolean {
  if (of === 'event') return Number(id) <= archive.events;
  return of === 'pack' ? archive.packs.has(id) : archive.findings.has(id);
}
