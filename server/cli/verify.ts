import { parseArgs } from 'node:util';
import { openReferenceArchive } from '../verification/holders.ts';
import { type ChecksumFile, openChecksumFile } from '../verification/listedFiles.ts';
import { type Finding, type Summary, Tally } from '../verification/report.ts';
import { verifyPaths } from '../verification/verifyPaths.ts';
import { type Command, type ExitCode, JSON_OPTION, print, UsageError } from './command.ts';
import { openProgress } from './progress.ts';
import { shown } from './shown.ts';

const HELP = `Usage: strongroom verify PATH… [options]

Says of each file whether it is intact, changed, missing or unknown. Needs no node running and no network.

A PATH may be
  a pack file or a bag    checked against its manifests and its record
  a list like SHA256SUMS  every file that it names is checked (GNU or BSD format)
  a dump                  each line checked against the ledger in it, and the ledger against its signed checkpoint
  a folder                checked against the SHA256SUMS in it, and the pack files and bags in it by what they carry
  any other file          checked against --sums or --against; one named by its digest, as blobs are, against its name

  --sums FILE             a list that the files are checked against
  --against URL|DIR       a node, or the data folder of one, that is asked whether it holds each file
  --json                  one JSON object per line for each file, and a last one with the counts

Symbolic links in folders are told and not followed; one that is named is followed, and told.

Ends with 0 if all is intact, 1 if anything is not, 2 if it could not be done.`;

export const verify: Command = {
  name: 'verify',
  summary: 'verify files, folders, pack files, bags, dumps and lists, offline',
  help: HELP,
  async run(args): Promise<ExitCode> {
    const { values, positionals: paths } = parseArgs({
      args,
      allowPositionals: true,
      options: {
        sums: { type: 'string' },
        against: { type: 'string' },
        json: JSON_OPTION,
      },
    });
    if (paths.length === 0 && values.sums === undefined) throw new UsageError('Name what is to be verified.');
    const tally = new Tally();
    const progress = openProgress(process.stderr);
    try {
      const findings = verifyPaths({
        paths,
        list: values.sums === undefined ? undefined : await listFrom(values.sums),
        holder: values.against === undefined ? undefined : await openReferenceArchive(values.against),
        progress,
      });
      for await (const found of findings) {
        tally.add(found);
        progress.clear();
        print(values.json ? JSON.stringify(found) : lineOf(found));
      }
    } finally {
      progress.clear();
    }
    const { summary } = tally;
    print(values.json ? JSON.stringify({ summary }) : sentenceOf(summary));
    return summary.ok ? 0 : 1;
  },
};

async function listFrom(file: string): Promise<ChecksumFile> {
  try {
    return await openChecksumFile(file);
  } catch {
    throw new UsageError(`The list ${shown(file)} cannot be read.`);
  }
}

/** The widest state, so that paths stand in one column. */
const STATE_WIDTH = 'missing'.length;

function lineOf({ path, state, sha256, expected, detail }: Finding): string {
  const about = [
    detail,
    state === 'changed' && expected !== null ? `expected ${expected}, found ${sha256 ?? 'nothing'}` : null,
    state === 'unknown' && sha256 !== null ? sha256 : null,
  ].filter((part) => part !== null);
  const rest = about.length === 0 ? '' : `: ${about.join('; ')}`;
  return `${state.padEnd(STATE_WIDTH)}  ${shown(path)}${shown(rest)}`;
}

function sentenceOf({ ok, intact, changed, missing, unknown }: Summary): string {
  if (ok) return `All is intact: ${intact} ${intact === 1 ? 'file' : 'files'}.`;
  return `${intact} intact, ${changed} changed, ${missing} missing, ${unknown} unknown.`;
}
