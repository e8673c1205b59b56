import { type Connection, certificatesOf } from '../../../../shared/collection/connection.ts';
import { type ReadDatabase, statement, type WriteDatabase } from '../engine/open.ts';
import { createBlobRowIfAbsent } from '../node/blobs.ts';

/** Inserts the rows of the certificates that a new retrieval names, which makes them objects of the archive. */
export function nameCertificates(
  database: WriteDatabase,
  retrieval: {
    connection?: Connection | null | undefined;
    redirects: readonly { connection?: Connection | undefined }[];
    observed_at: string;
  },
): void {
  for (const { sha256, bytes } of certificatesOf(retrieval)) {
    if (isCertificate(database, sha256)) continue;
    createBlobRowIfAbsent(database, { sha256, bytes, stored_at: retrieval.observed_at });
    statement(database, 'INSERT INTO certificates (sha256) VALUES (?)').run(sha256);
  }
}

/** Returns the content type of an object that is a certificate (RFC 2585); undefined for another. */
export function contentTypeOfCertificate(database: ReadDatabase, sha256: string): string | undefined {
  return isCertificate(database, sha256) ? 'application/pkix-cert' : undefined;
}

function isCertificate(database: ReadDatabase, sha256: string): boolean {
  return statement(database, 'SELECT 1 FROM certificates WHERE sha256 = ?').get(sha256) !== undefined;
}
