import { randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Clock } from '../../../shared/values/clock.ts';
import { writeFileDurably } from '../../store/blobs/durableFile.ts';
import { isMissing } from '../../store/blobs/fileErrors.ts';
import { makeCertificate, parseIdentity, type TlsIdentity } from './certificate.ts';

/** The private key and the certificate, in the data folder. The owner may replace it by one of their own. */
const TLS_FILE = 'tls.pem';

/**
 * Returns the certificate in the data folder. If there is none, one is made for these names and addresses.
 *
 * @throws Error with one sentence that says what to do if the file cannot be used.
 */
export async function openTlsIdentity(
  folder: string,
  { name, hosts, clock }: { name: string; hosts: readonly string[]; clock: Clock },
): Promise<TlsIdentity> {
  const file = join(folder, TLS_FILE);
  let pem: string;
  try {
    pem = await readFile(file, 'utf8');
  } catch (error) {
    if (!isMissing(error)) throw error;
    const made = makeCertificate({ name, hosts, now: clock.now(), serial: randomBytes(16) });
    await writeFileDurably(file, made.key + made.certificate, 0o600);
    return made;
  }
  try {
    return parseIdentity(pem);
  } catch (error) {
    throw new Error(
      `${file} is not a private key and its certificate in PEM. Replace it, or remove it to get a new certificate.`,
      { cause: error },
    );
  }
}
