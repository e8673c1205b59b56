import { namedKeyClaims } from '../../shared/proof/provenFile.ts';
import { type Claim, type ClaimId, type ClaimState, isSigned } from '../../shared/proof/verdict.ts';
import { headWords } from '../../shared/proof/words.ts';
import { countOf } from '../../shared/values/counts.ts';
import { checkDump, type DumpHead, type NamedObjects } from '../dump/checkDump.ts';
import { DumpError } from '../dump/dumpFile.ts';
import { type Finding, proofFinding } from './report.ts';

/** Verifies a dump line by line, with the same checks as an import. */
export async function verifyDump(
  path: string,
  chunks: AsyncIterable<Uint8Array>,
  { named, key }: { named?: NamedObjects; key?: string | undefined } = {},
): Promise<Finding> {
  try {
    const checked = checkDump(chunks);
    let step = await checked.next();
    for (; !step.done; step = await checked.next()) named?.add(step.value);
    const { sha256, sealed, checkpoint, verifierKey } = step.value;
    const hidden =
      sealed > 0 ? `; ${countOf(sealed, 'finding is', 'findings are')} sealed: only commitments` : '';
    const claims = claimsOf(step.value);
    const by = { key: verifierKey, isSigned: isSigned('dump', claims) };
    return proofFinding(path, 'dump', [...claims, ...namedKeyClaims(by, key)], {
      sha256,
      expected: sha256,
      against: 'its trailer and its ledger',
      detail: headWords(checkpoint, verifierKey) + hidden,
    });
  } catch (error) {
    if (!(error instanceof DumpError)) throw error;
    const { message, line } = error;
    const failed = claim('form', 'Every line is as an archive writes it.', 'fails', message);
    const found = proofFinding(path, 'dump', [failed]);
    return { ...found, detail: message, ...(line !== undefined && { line }) };
  }
}

/** What holds of a dump that was read to its end. */
function claimsOf({ verifierKey, isSigned: isWhole }: DumpHead): Claim<ClaimId<'dump'>>[] {
  return [
    claim('form', 'Every line is as an archive writes it.', 'holds'),
    claim('key', 'The key is the verifier key of a node.', 'holds', verifierKey),
    claim('checkpoint', 'The key signed the checkpoint.', 'holds'),
    claim('ledger', 'The entries are those of the checkpoint.', 'holds'),
    claim('records', 'Each entry has the record that it covers.', 'holds'),
    claim(
      'trailer',
      'The key signed all bytes of this dump.',
      isWhole ? 'holds' : 'unproven',
      isWhole
        ? ''
        : 'No ledger entry covers the sources, the rounds and the cases, so they may have been changed.',
    ),
  ];
}

function claim(id: ClaimId<'dump'>, name: string, state: ClaimState, detail = ''): Claim<ClaimId<'dump'>> {
  return { id, name, state, detail };
}
