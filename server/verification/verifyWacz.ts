import { Problem } from '../../shared/problems.ts';
import type { Claim, ClaimId } from '../../shared/proof/verdict.ts';
import { openWacz } from '../collection/captures/wacz/openWacz.ts';
import { type Finding, proofFinding } from './report.ts';

type WaczClaim = Claim<ClaimId<'wacz'>>;

/** Verifies a WACZ package: each file against the digests in it, and its signature. */
export async function verifyWaczFile(path: string): Promise<Finding> {
  return proofFinding(path, 'wacz', await claimsOf(path), { against: 'itself' });
}

async function claimsOf(path: string): Promise<WaczClaim[]> {
  const form = 'It is a package whose files have the digests that it lists.';
  try {
    const { unlisted, isSigned, close } = await openWacz(path, new AbortController().signal);
    await close();
    const [unnamed] = unlisted;
    return [
      { id: 'form', name: form, state: 'holds', detail: '' },
      {
        id: 'files',
        name: 'It holds nothing but the files that it lists.',
        state: unnamed === undefined ? 'holds' : 'fails',
        detail: unnamed === undefined ? '' : `No digest covers ${JSON.stringify(unnamed)}.`,
      },
      {
        id: 'signature',
        name: 'The key in it signed the digest of the list.',
        state: isSigned ? 'holds' : 'unproven',
        detail: isSigned ? '' : 'It has no signature.',
      },
      {
        id: 'stated',
        name: 'The key is that of the archive, and the time of the signature is right.',
        state: 'claimed',
        detail: 'Only the package says so. Compare the key, and the certificates.',
      },
    ];
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    return [{ id: 'form', name: form, state: 'fails', detail: error.message }];
  }
}
