import { buffer } from 'node:stream/consumers';
import { Problem } from '../../shared/problems.ts';
import { namedKeyClaims } from '../../shared/proof/provenFile.ts';
import type { Claim, ClaimId } from '../../shared/proof/verdict.ts';
import { hasSystemName, isOfSystem, MAX_SYSTEM_FILE_BYTES } from '../../shared/values/systemFiles.ts';
import { openWacz } from '../collection/captures/wacz/openWacz.ts';
import type { ZipMember } from '../zip/openZip.ts';
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
    let files: WaczClaim;
    try {
      files = await filesClaim(unlisted);
    } finally {
      await close();
    }
    const [weakest] = weak;
    const claims: WaczClaim[] = [
      { id: 'form', name: form, state: 'holds', detail: '' },
      files,
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

/** Nothing reads what an operating system adds to a package that is zipped again, so the package is not altered by it. */
async function filesClaim(unlisted: readonly ZipMember[]): Promise<WaczClaim> {
  const name = 'It holds nothing but the files that it lists.';
  const [first] = unlisted;
  if (!first) return { id: 'files', name, state: 'holds', detail: '' };
  for (const member of unlisted)
    if (!(await isAddedBySystem(member)))
      return {
        id: 'files',
        name,
        state: 'fails',
        detail: `No digest covers ${JSON.stringify(member.name)}.`,
      };
  const detail = `No digest covers ${JSON.stringify(first.name)}, which looks like what an operating system adds.`;
  return { id: 'files', name, state: 'unproven', detail };
}

async function isAddedBySystem(member: ZipMember): Promise<boolean> {
  const { name, folder, bytes } = member;
  if (folder || bytes > MAX_SYSTEM_FILE_BYTES || !hasSystemName(name)) return false;
  return isOfSystem(name, (await buffer(member.read())).toString('latin1'));
}
