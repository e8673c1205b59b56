import { openTarget } from '../copies/targets/openTarget.ts';
import { InvalidCopyError } from '../copies/targets/target.ts';
import { verifyCopy } from '../copies/verifyCopy.ts';
import { DumpError } from '../dump/dumpFile.ts';
import { type ExitCode, print, printError } from './command.ts';
import { openProgress } from './progress.ts';

/** At most so many files are listed. */
const MAX_LISTED = 20;

/** Verifies a copy without a node and prints what was found. @throws CopyError */
export async function verifyCopyAt(
  address: string,
  { endpoint, region, json }: { endpoint?: string | undefined; region?: string | undefined; json: boolean },
): Promise<ExitCode> {
  const target = await openTarget({ target: address, endpoint, region });
  const progress = openProgress(process.stderr);
  try {
    const { signal } = new AbortController();
    const { ok, head, objects, bytes, damaged, missing } = await verifyCopy(target, {
      signal,
      progress: (read) => progress.read(read),
    });
    progress.clear();
    const { node, verifierKey: key, checkpoint } = head;
    if (json) {
      print(JSON.stringify({ ok, node, key, entries: checkpoint.size, objects, bytes, damaged, missing }));
      return ok ? 0 : 1;
    }
    for (const sha256 of damaged.slice(0, MAX_LISTED)) printError(`damaged  ${sha256}`);
    for (const sha256 of missing.slice(0, MAX_LISTED)) printError(`missing  ${sha256}`);
    if (ok)
      print(`All is intact: ${checkpoint.size} entries and ${objects} objects, ${bytes} bytes, of ${node}.`);
    else print(`Not intact: ${damaged.length} files are damaged and ${missing.length} are missing.`);
    print(`The checkpoint is signed by ${key}`);
    return ok ? 0 : 1;
  } catch (error) {
    if (!(error instanceof DumpError || error instanceof InvalidCopyError)) throw error;
    progress.clear();
    if (json) print(JSON.stringify({ ok: false, sentence: error.message }));
    else if (error instanceof InvalidCopyError) printError(error.message);
    else printError(`The records of ${target.name} are invalid: ${error.message}`);
    return 1;
  } finally {
    progress.clear();
    target.close();
  }
}
