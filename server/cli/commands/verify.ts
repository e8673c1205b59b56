import { parseArgs } from 'node:util';
import { aboutWords, shownPath } from '../../../shared/proof/words.ts';
import { type ChecksumFile, openChecksumFile, openReferenceArchive } from '../../verification/plainFiles.ts';
import { exitCodeOf, type Finding, type Summary, Tally } from '../../verification/report.ts';
import { verifyPaths } from '../../verification/verifyPaths.ts';
import {
  type Command,
  type ExitCode,
  escapeForTerminal,
  JSON_OPTION,
  jsonForTerminal,
  namesCopy,
  openProgress,
  optionsHelp,
  print,
  printJson,
  TARGET_OPTIONS,
  targetOf,
  UsageError,
} from '../command.ts';

const OPTIONS = {
  sums: { type: 'string', value: 'FILE', help: 'a list of digests that the files are checked against' },
  against: {
    type: 'string',
    value: 'URL|DIR',
    help: 'a node, or the data folder of one: checks whether it holds each file',
  },
  key: {
    type: 'string',
    value: 'KEY',
    help: 'the verifier key of a node, for its checkpoints and proof files; what another key signed is unsigned',
  },
  ...TARGET_OPTIONS,
  json: { ...JSON_OPTION, help: 'print one JSON object per file, and a last one with the counts' },
} as const;

const HELP = `Usage: strongroom verify PATH… [options]

Reports for each file whether it is intact, changed, missing or unknown. Needs no running node and no network.

A PATH may be
  a pack file or a bag    checked against its manifests and its record
  a list like SHA256SUMS  every file that it names is checked (GNU or BSD format)
  a dump                  each line is checked against the ledger in it, and the ledger against its signed checkpoint
  an evidence file        NAME.evidence.html: everything in it is recomputed
  a timestamp             NAME.tsr, a reply of an authority, with the stamped text beside it as NAME.txt
  a checkpoint, a proof   checked with --key; NAME.tlog-proof with its ledger entry beside it as NAME.entry.json
  a WACZ package          each file is checked against the digests in it, and its signature
  a copy                  its folder, or s3://bucket/prefix: its checkpoint, every record and every object
  a data folder           its files as below; reports how many objects are in a copy and not on this disk
  a folder                checked against the SHA256SUMS in it; what proves itself in it is checked as above, also if the
                          list names it
  any other file          checked against --sums or --against; a file named by its digest, like a blob, is checked
                          against its name

${optionsHelp(OPTIONS)}

Symbolic links in folders are reported and not followed. A symbolic link given as PATH is followed and reported.

A file that proves itself is intact only if every claim that its format must have holds. It is unsigned if nothing is
wrong, but no valid signature of the named key covers it; altered if a claim fails; unknown if one could not be checked.
--json lists the claims of each such file with their state: holds, fails, unproven, or claimed.

Exit code: 0 if all is intact, 3 if nothing is wrong but something is unsigned, 1 if anything else is not intact, 2 if
the files could not be verified.`;

export const verify: Command = {
  name: 'verify',
  summary: 'verify files, folders, pack files, bags, dumps and lists, offline',
  help: HELP,
  async run(args, config): Promise<ExitCode> {
    const { values, positionals: paths } = parseArgs({ args, allowPositionals: true, options: OPTIONS });
    if (paths.some(namesCopy)) {
      // Else it would be called intact, and nothing would have been compared with what was named.
      if (values.sums !== undefined || values.against !== undefined)
        throw new UsageError('A copy is verified by its own records: leave out --sums and --against.');
      return (await import('../verifyCopyAt.ts')).verifyCopyAt(targetOf(paths), values);
    }
    if (paths.length === 0 && values.sums === undefined) throw new UsageError('Name the files to verify.');
    const tally = new Tally();
    const progress = openProgress(process.stderr);
    try {
      const findings = verifyPaths({
        paths,
        list: values.sums === undefined ? undefined : await listFrom(values.sums),
        holder: values.against === undefined ? undefined : await openReferenceArchive(values.against),
        pages: async () =>
          (await import('../../evidence/evidenceParts.ts')).knownPages(
            config.rendererFolder ?? (await import('../../config.ts')).defaultRendererFolder(),
          ),
        key: values.key,
        progress,
      });
      for await (const found of findings) {
        for (const each of found) tally.add(each);
        progress.clear();
        // A write for each line would take longer than hashing a small file.
        if (found.length > 0) print(found.map(values.json ? toJson : formatFinding).join('\n'));
      }
    } finally {
      progress.clear();
    }
    const { summary } = tally;
    const { objectsNotIn, describeOffloaded, describeReleased } = await import('../dataFolder.ts');
    const notHere = paths.map(objectsNotIn);
    const elsewhere = notHere.flatMap((folder) => folder.elsewhere);
    const released_objects = notHere.reduce((sum, { released }) => sum + released, 0);
    const counts = {
      summary,
      ...(elsewhere.length > 0 && { elsewhere }),
      ...(released_objects > 0 && { released_objects }),
    };
    if (values.json) printJson(counts);
    else {
      print(formatSummary(summary));
      for (const each of elsewhere) print(escapeForTerminal(describeOffloaded(each)));
      if (released_objects > 0) print(describeReleased(released_objects));
    }
    return exitCodeOf(summary);
  },
};

async function listFrom(file: string): Promise<ChecksumFile> {
  try {
    return await openChecksumFile(file);
  } catch {
    throw new UsageError(`The list ${escapeForTerminal(file)} cannot be read.`);
  }
}

/** The length of most states, so that paths are aligned. */
const STATE_WIDTH = 'missing'.length;

function toJson(found: Finding): string {
  return jsonForTerminal(found);
}

function formatFinding({ path, state, sha256, expected, detail, verdict, about }: Finding): string {
  const details = [
    about ? aboutWords(about) : null,
    detail,
    state === 'changed' && expected !== null ? `expected ${expected}, found ${sha256 ?? 'nothing'}` : null,
    state === 'unknown' && sha256 !== null && !about ? sha256 : null,
  ].filter((part) => part !== null);
  const rest = details.length === 0 ? '' : `: ${details.join('; ')}`;
  return `${(verdict ?? state).padEnd(STATE_WIDTH)}  ${escapeForTerminal(shownPath(path) + rest)}`;
}

function formatSummary({ ok, intact, changed, missing, unknown, unsigned }: Summary): string {
  if (ok) return `Everything is intact: ${intact} ${intact === 1 ? 'file' : 'files'}.`;
  const unsignedWords = unsigned === undefined ? '' : `, ${unsigned} unsigned`;
  return `${intact} intact, ${changed} changed, ${missing} missing, ${unknown} unknown${unsignedWords}.`;
}
