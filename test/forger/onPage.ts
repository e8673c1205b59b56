import { type PackedFileResult, verifyBagFile } from '../../renderer/src/pages/verify/bagFile.ts';
import type { KnownPage } from '../../shared/proof/evidence/evidencePage.ts';
import type { ForgedFormat, Verdict } from './forgery.ts';
import type { Zipped } from './zip.ts';

/** The same forgeries of a ZIP, verified by the page *Verify* in place of the command. */
export function onPage(
  { command: _, ...format }: ForgedFormat<Zipped>,
  pages: readonly KnownPage[],
): ForgedFormat<Zipped> {
  return {
    ...format,
    name: `${format.name} on the page`,
    verdict: async ({ bytes }) => {
      const found = await verifyBagFile(new File([new Uint8Array(bytes)], 'forged.zip'), pages);
      return found ? verdictOf(found) : 'unknown';
    },
  };
}

/** What the rows say together, as the exit code of the command does. */
function verdictOf(rows: readonly PackedFileResult[]): Verdict {
  const isWrong = ({ sha256, expected, fault, proof }: PackedFileResult) =>
    sha256 === null ||
    fault !== null ||
    (expected !== null && expected !== sha256) ||
    proof?.verdict === 'altered' ||
    proof?.verdict === 'unknown';
  if (rows.length === 0 || rows.some(isWrong)) return 'altered';
  return rows.some(({ proof }) => proof?.verdict === 'unsigned') ? 'unsigned' : 'intact';
}
