import { Problem } from '../../shared/problems.ts';
import { namedKeyClaims } from '../../shared/proof/provenFile.ts';
import type { Claim, ClaimId } from '../../shared/proof/verdict.ts';
import { openWacz } from '../collection/captures/wacz/openWacz.ts';
import { type Finding, proofFinding } from './report.ts';

type WaczClaim = Claim<ClaimId<'wacz'>>;

/** Verifies a WACZ package: each file against the digests in it, and its signature. */
export async function verifyWaczFile(path: string, named: string | undefined): Promise<Finding> {
  const { claims, signer } = await checked(path, named);
  const detail = signer === undefined ? null : `signed by the key ${signer}`;
  return proofFinding(path, 'wacz', claims, { against: 'itself', detail });
}

async function checked(
  path: string,
  named: string | undefined,
): Promise<{ claims: WaczClaim[]; signer?: string | undefined }> {
  const form = 'It is a package whose files have the digests that it lists.';
  try {
    const { unlisted, weak, signer, close } = await openWacz(path, new AbortController().signal);
    await close();
    const [unnamed] = unlisted;
    const [weakest] = weak;
    const claims: WaczClaim[] = [
      { id: 'form', name: form, state: 'holds', detail: '' },
      {
        id: 'files',
        name: 'It holds nothing but the files that it lists.',
        state: unnamed === undefined ? 'holds' : 'fails',
        detail: unnamed === undefined ? '' : `No digest covers ${JSON.stringify(unnamed)}.`,
      },
      ...(weakest === undefined
        ? []
        : [
            {
              id: 'files',
              name: 'No other files could have these digests.',
              state: 'unproven',
              detail: `Of ${JSON.stringify(weakest)} it has only an MD5 or SHA-1 digest.`,
            } as const,
          ]),
      {
        id: 'signature',
        name: 'The key in it signed the digest of the list.',
        state: signer === undefined ? 'unproven' : 'holds',
        detail: signer ?? 'It has no signature.',
      },
      {
        id: 'stated',
        name: 'The key is that of the archive, and the time of the signature is right.',
        state: 'claimed',
        detail: 'Only the package says so. Compare the key, and the certificates.',
      },
      ...namedKeyClaims({ key: signer, isSigned: true }, named).map((claim) => ({
        ...claim,
        id: 'signature' as const,
      })),
    ];
    return { claims, signer };
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    return { claims: [{ id: 'form', name: form, state: 'fails', detail: error.message }] };
  }
}
