import { type ArchiveConfig, type OpenArchive, openArchive } from '../../ledger/openArchive.ts';
import { coverRetrievals } from './coverRetrievals.ts';

/**
 * Opens an archive for a program that may store retrievals: each transaction that stores any also appends the ledger
 * entry that covers them.
 *
 * @throws what `openArchive` throws
 */
export async function openArchiveForWriting(config: ArchiveConfig): Promise<OpenArchive> {
  const opened = await openArchive(config);
  try {
    await coverRetrievals(opened.store);
    return opened;
  } catch (error) {
    await opened.store.close();
    throw error;
  }
}
