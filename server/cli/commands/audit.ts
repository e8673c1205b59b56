import { parseArgs } from 'node:util';
import type {
  AuditResult,
  DamageProblem,
  DatabaseCheck,
  LostAndFoundFindings,
} from '../../../shared/ledger/fixity.ts';
import { systemClock } from '../../../shared/values/clock.ts';
import { countOf } from '../../../shared/values/counts.ts';
import type { NodeConfig } from '../../config.ts';
import { auditBlobs, checkDatabase } from '../../fixity/audit.ts';
import type { Finding } from '../../fixity/damages.ts';
import { emptyFindings, listUnnamedBlobs } from '../../fixity/lostAndFound.ts';
import { checkOpening } from '../../ledger/openArchive.ts';
import { lostFiles } from '../../store/blobs/lostAndFound.ts';
import { FolderInUseError } from '../../store/opening/folderLock.ts';
import { DamagedDatabaseError } from '../../store/opening/inspectFolder.ts';
import {
  type Command,
  type ExitCode,
  NODE_OPTIONS,
  openProgress,
  optionsHelp,
  print,
  printError,
  printJson,
} from '../command.ts';
import { archiveFolder, describeReleased } from '../dataFolder.ts';
import { type NodeOptions, withArchive } from '../node/withNode.ts';

const HELP = `Usage: strongroom audit [options]

Checks the database of a data folder and re-hashes every stored blob. Damage and repairs are recorded in the ledger.
Blobs that no record names are moved to lost-and-found/, and moved back when a record names them. What is damaged is
repaired from a copy that has it. If the database is damaged, the command only reads and reports.

${optionsHelp(NODE_OPTIONS)}

Exit code: 0 if everything is intact, 1 if anything is damaged, 2 if the audit could not be done.`;

/** The result of an audit. `recorded` is false if nothing was written to the archive. */
export interface AuditReport extends LostAndFoundFindings {
  database: DatabaseCheck;
  checked: number;
  bytes: number;
  damaged_objects: number;
  damaged: { sha256: string; bytes: number; problem: DamageProblem; found: string | null }[];
  restored: string[];
  /** Objects that were not checked, because they are offloaded. */
  elsewhere_objects?: number | undefined;
  /** Objects whose bytes were given up. */
  released_objects?: number | undefined;
  recorded: boolean;
}

const MAX_LISTED = 1_000;

export const audit: Command = {
  name: 'audit',
  summary: 're-hash every stored blob of a data folder',
  help: HELP,
  async run(args, config): Promise<ExitCode> {
    const { values } = parseArgs({ args, options: NODE_OPTIONS });
    const report = await auditOf(values, config);
    const { database } = report;
    const ok = database.ok && report.damaged_objects === 0;
    if (values.json) printJson({ ok, ...report });
    else printReport(report);
    return ok ? 0 : 1;
  },
};

/** Has the node audit the archive. One in this folder is read only if its database is damaged. */
async function auditOf(options: NodeOptions, config: Partial<NodeConfig>): Promise<AuditReport> {
  if (options.url !== undefined) return auditAndRecord(options, config);
  const folder = archiveFolder(options.data);
  // Checked before the folder is opened: a damaged database must not be written to.
  await requireAcknowledged(folder);
  const database = await checkDatabase({ folder });
  return database.ok ? auditAndRecord(options, config) : auditReadOnly(folder, database);
}

/** @throws the reason for which opening the archive is refused, unless it is that the folder is in use or damaged */
async function requireAcknowledged(folder: string): Promise<void> {
  try {
    await checkOpening({ folder, clock: systemClock });
  } catch (error) {
    if (!(error instanceof FolderInUseError || error instanceof DamagedDatabaseError)) throw error;
  }
}

async function auditAndRecord(options: NodeOptions, config: Partial<NodeConfig>): Promise<AuditReport> {
  const line = openLine();
  try {
    const { restored_objects: _count, ...result } = await withArchive(
      options,
      config,
      async (node) => (await node.finished(await node.call('startAudit'), line.update)) as AuditResult,
    );
    const damaged = result.damaged.map(({ sha256, bytes, problem, found }) => ({
      sha256,
      bytes,
      problem,
      found,
    }));
    return { ...result, damaged, recorded: true };
  } finally {
    line.clear();
  }
}

/** Audits a folder whose database is damaged. Writes nothing. */
export async function auditReadOnly(folder: string, database: DatabaseCheck): Promise<AuditReport> {
  try {
    return { ...(await readBlobs(folder)), database };
  } catch (error) {
    if (database.ok) throw error;
    const reason = error instanceof Error ? error.message : String(error);
    const finding = `The stored blobs could not be re-hashed: ${reason}.`;
    return { ...NOTHING_CHECKED, database: { ok: false, findings: [...database.findings, finding] } };
  }
}

const NOTHING_CHECKED: Omit<AuditReport, 'database'> = {
  checked: 0,
  bytes: 0,
  damaged_objects: 0,
  damaged: [],
  restored: [],
  recorded: false,
  ...emptyFindings(),
};

async function readBlobs(folder: string): Promise<Omit<AuditReport, 'database'>> {
  const report: Omit<AuditReport, 'database'> = { ...NOTHING_CHECKED, damaged: [], restored: [] };
  const line = openLine();
  try {
    for (let after = '', isEnd = false; !isEnd; ) {
      const done = report.bytes;
      const slice = await auditBlobs({ folder }, { after, onProgress: (bytes) => line.update(done + bytes) });
      report.checked += slice.checked;
      if (slice.elsewhere > 0) report.elsewhere_objects = (report.elsewhere_objects ?? 0) + slice.elsewhere;
      if (slice.released > 0) report.released_objects = slice.released;
      report.bytes += slice.bytes;
      for (const finding of slice.findings) addFinding(report, finding);
      line.update(report.bytes);
      after = slice.position;
      isEnd = slice.isEnd;
    }
  } finally {
    line.clear();
  }
  return { ...report, ...(await listUnnamedBlobs({ folder }, await lostFiles(folder))) };
}

function addFinding(
  report: Pick<AuditReport, 'restored' | 'damaged' | 'damaged_objects'>,
  { problem, ...object }: Finding,
): void {
  if (problem === null) {
    if (report.restored.length < MAX_LISTED) report.restored.push(object.sha256);
    return;
  }
  report.damaged_objects += 1;
  if (report.damaged.length < MAX_LISTED) report.damaged.push({ ...object, problem });
}

/** A progress line that is updated with totals instead of differences. */
function openLine(): { update: (done: number, total?: number | null) => void; clear: () => void } {
  const progress = openProgress(process.stderr);
  let found = 0;
  let read = 0;
  return {
    update: (done, total) => {
      const all = total ?? done;
      progress.found(Math.max(0, all - found));
      found = Math.max(found, all);
      progress.read(done - read);
      read = done;
    },
    clear: () => progress.clear(),
  };
}

/** The end of the sentence that begins with the digest of a damaged blob. */
export const DAMAGE_TEXT: Record<DamageProblem, (found: string | null) => string> = {
  missing: () => 'its bytes are missing',
  changed: (found) => `its bytes were changed; their digest is ${found ?? 'unknown'}`,
  unreadable: () => 'its bytes cannot be read',
};

function printDatabaseFindings({ findings }: DatabaseCheck): void {
  printError('The database is damaged. Restore an intact copy. Nothing was written. SQLite reported:');
  for (const finding of findings) printError(`  ${finding}`);
}

function printLost(report: AuditReport): void {
  const {
    unnamed,
    unnamed_objects,
    lost_and_found,
    lost_and_found_objects,
    foreign,
    foreign_files,
    recorded,
  } = report;
  const where = recorded ? 'it was moved to lost-and-found/' : 'it was left in place';
  for (const { sha256, bytes } of unnamed) print(`${sha256}: ${bytes} bytes that no record names; ${where}.`);
  if (unnamed_objects > unnamed.length) print(`… and ${unnamed_objects - unnamed.length} more.`);
  const moved = new Set(recorded ? unnamed.map(({ sha256 }) => sha256) : []);
  const earlier = lost_and_found.filter(({ sha256 }) => !moved.has(sha256));
  for (const { name, bytes } of earlier)
    print(`lost-and-found/${name}: ${bytes} bytes that no record names.`);
  if (lost_and_found_objects > lost_and_found.length)
    print(`lost-and-found/ holds ${countOf(lost_and_found_objects, 'file')} in total.`);
  for (const path of foreign) print(`${path}: not a file of this archive; it was left in place.`);
  if (foreign_files > foreign.length) print(`… and ${foreign_files - foreign.length} more.`);
}

function printReport(report: AuditReport): void {
  const { database, checked, bytes, damaged_objects, damaged, restored } = report;
  if (!database.ok) printDatabaseFindings(database);
  for (const { sha256, problem, found } of damaged) printError(`${sha256}: ${DAMAGE_TEXT[problem](found)}.`);
  for (const sha256 of restored) print(`${sha256}: its bytes are intact again.`);
  printLost(report);
  const { elsewhere_objects = 0, released_objects = 0 } = report;
  if (released_objects > 0) print(describeReleased(released_objects));
  if (elsewhere_objects > 0)
    print(
      `${countOf(elsewhere_objects, 'object is', 'objects are')} offloaded and not checked. Check the copies.`,
    );
  const all = `${checked} ${checked === 1 ? 'object' : 'objects'}, ${bytes} bytes`;
  print(
    damaged_objects === 0
      ? `${database.ok ? 'Everything is' : 'The stored bytes that could be read are'} intact: ${all}.`
      : `${damaged_objects} damaged of ${all}. To repair them, upload the pack files again or check the sources again.`,
  );
}
