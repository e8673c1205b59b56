import { createPublicKey, type KeyObject, verify, X509Certificate } from 'node:crypto';
import { z } from 'zod';

/** A signature as wacz-auth 0.1.0 describes it: by a key, or by the key of a domain's certificate. */
export const signedDataSchema = z.object({
  hash: z.string(),
  signature: z.string(),
  publicKey: z.string().optional(),
  /** PEM; the first certificate is that of the domain. */
  domainCert: z.string().optional(),
});
type SignedData = z.output<typeof signedDataSchema>;

/**
 * Verifies a signature, and returns in a sentence why it does not hold; undefined if it does. Whose the key is, and whether
 * a certificate is trusted, is not for this node to say.
 */
export function describeWrongSignature({ hash, signature, ...by }: SignedData): string | undefined {
  const key = keyOf(by);
  if (!key) return 'It has no public key that can be read.';
  const bytes = Buffer.from(signature, 'base64');
  // Browsers write the two numbers one after the other, other programs in DER.
  const holds = (['ieee-p1363', 'der'] as const).some((dsaEncoding) => {
    try {
      return verify('sha256', Buffer.from(hash), { key, dsaEncoding }, bytes);
    } catch {
      // Bytes that are no signature in this encoding do not verify.
      return false;
    }
  });
  return holds ? undefined : 'It was made with another key or for another hash.';
}

function keyOf({
  publicKey,
  domainCert,
}: Pick<SignedData, 'publicKey' | 'domainCert'>): KeyObject | undefined {
  try {
    if (domainCert !== undefined) return new X509Certificate(domainCert).publicKey;
    if (publicKey === undefined) return undefined;
    return createPublicKey({ key: Buffer.from(publicKey, 'base64'), format: 'der', type: 'spki' });
  } catch {
    return undefined;
  }
}
