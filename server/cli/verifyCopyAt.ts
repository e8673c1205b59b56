import { namedKeyClaims } from '../../shared/proof/provenFile.ts';
import { decide, isSigned } from '../../shared/proof/verdict.ts';
import { shownKey, shownKeyName, shownPath } from '../../shared/proof/words.ts';
import { countOf } from '../../shared/values/counts.ts';
import { openTarget } from '../copies/targets/openTarget.ts';
import { InvalidCopyError } from '../copies/targets/target.ts';
import { type VerifiedCopy, verifyCopy } from '../copies/verifyCopy.ts';
import { DumpError } from '../dump/dumpFile.ts';
import { type ExitCode, escapeForTerminal, openProgress, print, printError, printJson } from './command.ts';

/** At most so many files are listed. */
const MAX_LISTED = 20;

interface CopyOptions {
  endpoint?: string | undefined;
  region?: string | undefined;
  /** The verifier key that must have signed it. */
  key?: string | undefined;
  json: boolean;
}

/** Verifies a copy without a node and prints what was found. @throws CopyError */
export async function verifyCopyAt(
  address: string,
  { endpoint, region, key, json }: CopyOptions,
): Promise<ExitCode> {
  const target = await openTarget({ target: address, endpoint, region });
  const progress = openProgress(process.stderr);
  try {
    const { signal } = new AbortController();
    const found = withNamedKey(
      await verifyCopy(target, { signal, progress: (read) => progress.read(read) }),
      key,
    );
    progress.clear();
    if (json) printJson(asJson(found));
    else print(sentencesOf(found));
    if (!json) for (const each of wrongFiles(found)) printError(each);
    if (!json && found.invalid) printError(escapeForTerminal(invalidRecords(target.name, found.invalid)));
    return found.ok ? 0 : found.verdict === 'unsigned' ? 3 : 1;
  } catch (error) {
    if (!(error instanceof DumpError || error instanceof InvalidCopyError)) throw error;
    progress.clear();
    if (json) printJson({ ok: false, verdict: 'altered', claims: [], sentence: error.message });
    else printError(escapeForTerminal(invalidRecords(target.name, error)));
    return 1;
  } finally {
    progress.clear();
    await target.close();
  }
}

/** Compares the key that signed a copy with the one that was named. */
function withNamedKey(found: VerifiedCopy, key: string | undefined): VerifiedCopy {
  const by = { key: found.head?.verifierKey, isSigned: isSigned('copy', found.claims) };
  const claims = [...found.claims, ...namedKeyClaims(by, key)];
  const { verdict } = decide('copy', claims);
  return { ...found, claims, verdict, ok: verdict === 'intact' };
}

function invalidRecords(name: string, error: Error): string {
  return error instanceof InvalidCopyError
    ? error.message
    : `The records of ${name} are invalid: ${error.message}`;
}

function asJson({
  ok,
  verdict,
  claims,
  head,
  invalid,
  objects,
  bytes,
  withheld,
  released,
  damaged,
  missing,
  extra,
  exposed,
  notes,
}: VerifiedCopy): object {
  const archive = head && { node: head.node, key: head.verifierKey, entries: head.checkpoint.size };
  const sentence = invalid && { sentence: invalid.message };
  const counts = { objects, bytes, withheld, released, sealed: head?.sealed ?? 0 };
  return { ok, verdict, claims, ...archive, ...sentence, ...counts, damaged, missing, extra, exposed, notes };
}

function* wrongFiles({ damaged, missing, extra, exposed, notes }: VerifiedCopy): Generator<string> {
  const shown = (path: string) => escapeForTerminal(shownPath(path));
  for (const path of damaged.slice(0, MAX_LISTED)) yield `damaged  ${shown(path)}`;
  for (const path of missing.slice(0, MAX_LISTED)) yield `missing  ${shown(path)}`;
  for (const path of extra.slice(0, MAX_LISTED)) yield `extra    ${shown(path)}`;
  for (const path of exposed.slice(0, MAX_LISTED)) yield `exposed  ${shown(path)}`;
  for (const path of notes.slice(0, MAX_LISTED)) yield `left     ${shown(path)}`;
}

function sentencesOf({ ok, verdict, head, objects, bytes, ...files }: VerifiedCopy): string {
  const sentences: string[] = [];
  const { withheld, released, damaged, missing, extra, exposed, notes } = files;
  if (ok && head)
    sentences.push(
      `Everything is intact: ${countOf(head.checkpoint.size, 'entry', 'entries')} and ${countOf(objects, 'object')}, ${bytes} bytes, of ${shownKeyName(head.node)}.`,
    );
  else if (verdict === 'unsigned') sentences.push('Nothing is wrong, but the named key did not sign it.');
  else
    sentences.push(
      `Not intact: ${countOf(damaged.length, 'file is', 'files are')} damaged, ${countOf(missing.length, 'is', 'are')} missing, and ${countOf(extra.length, 'does', 'do')} not belong there.`,
    );
  if (withheld > 0)
    sentences.push(
      `${countOf(withheld, 'withheld object is', 'withheld objects are')} not in this copy, as its signed list says.`,
    );
  if (released > 0)
    sentences.push(
      `${countOf(released, 'object was', 'objects were')} given up (released), as the ledger records. The copy need not hold ${released === 1 ? 'it' : 'them'}.`,
    );
  if (head && head.sealed > 0)
    sentences.push(
      `${countOf(head.sealed, 'finding is', 'findings are')} sealed: only commitments could be verified.`,
    );
  if (exposed.length > 0)
    sentences.push(
      `${countOf(exposed.length, 'file has', 'files have')} the bytes of an object that is withheld from readers or was released. The next sync removes objects; remove other files yourself.`,
    );
  if (notes.length > 0)
    sentences.push(
      `${countOf(notes.length, 'other file or folder looks', 'other files or folders look')} like what a system or an unfinished sync leaves, and ${notes.length === 1 ? 'is' : 'are'} no part of the archive: nothing covers ${notes.length === 1 ? 'it' : 'them'}.`,
    );
  if (head) sentences.push(`The checkpoint is signed by ${shownKey(head.verifierKey)}`);
  return sentences.join('\n');
}
