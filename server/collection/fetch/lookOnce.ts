import { contentEncodingOf, type RetrievalError } from '../../../shared/collection/retrieval.ts';
import { MEGABYTE } from '../../../shared/limits.ts';
import type { Settings } from '../../../shared/node/settings.ts';
import { Problem } from '../../../shared/problems.ts';
import { errorCode } from '../../../shared/values/errorCode.ts';
import type { StagedFile } from '../../store/blobs/staging.ts';
import { reachedStorageLimit, type Store } from '../../store/store.ts';
import type { Deriver } from '../derived/process/deriver.ts';
import { NotDerivableError } from '../derived/process/tasks.ts';
import { PrivateAddressCheck } from '../sources/privateSources.ts';
import { RetrievalFailure } from './connect.ts';
import { fetchObject } from './fetchObject.ts';
import type { FetchServices } from './requester.ts';

interface LookServices extends FetchServices {
  store: Store;
  settings: () => Settings;
  deriver: Pick<Deriver, 'derive'>;
}

/** What an address answered. */
export interface Look {
  /** When it had answered. */
  at: string;
  status: number | null;
  /** Why there is no object; else null. */
  error: RetrievalError | null;
  sha256: string | null;
  bytes: number | null;
  /** The text of the object as `Texts` would store it; null if it has none, or it took too long. */
  text: { content: Uint8Array; tool: string } | null;
}

/** How long the text of an object may take. */
const TEXT_MS = 4_000;

/**
 * Fetches an address once as any visitor of the site gets it, and stores nothing. robots.txt and the pauses between requests
 * hold as at a check; no header and no login is sent, and a private address is refused.
 *
 * @throws Problem `private_address`; HostBackoffError; the signal's reason
 */
export async function lookOnce(
  { store, settings, deriver, ...services }: LookServices,
  url: string,
  signal: AbortSignal,
): Promise<Look> {
  if (await new PrivateAddressCheck(services).allows(url))
    throw new Problem('private_address', 'A private address is not fetched for another node.');
  const { user_agent, request_timeout_seconds, max_object_mb } = settings();
  if (reachedStorageLimit(store, settings(), 0) !== null) throw noRoom();
  let staged: StagedFile | undefined;
  const receive = async (chunks: AsyncIterable<Uint8Array>, maxBytes: number) => {
    try {
      return (staged = await store.blobs.staging.stageFile(chunks, maxBytes));
    } catch (error) {
      if (errorCode(error) === 'ENOSPC') throw new RetrievalFailure('storage_full', error);
      throw error;
    }
  };
  try {
    const { received, status, error, content_type, headers } = await fetchObject(services, {
      url,
      headers: {},
      userAgent: user_agent,
      ignoreRobots: false,
      timeoutMs: request_timeout_seconds * 1000,
      maxBytes: Math.floor(max_object_mb * MEGABYTE),
      validators: async () => undefined,
      receive,
      allowPrivateAddress: false,
      signal,
    });
    const at = store.instant();
    // That this node has no room says nothing of the address.
    if (error === 'storage_full') throw noRoom();
    if (error !== null || !received)
      return { at, status, error: error ?? 'invalid_response', sha256: null, bytes: null, text: null };
    const { sha256, bytes, file } = received;
    const object = { sha256, file, contentType: content_type, contentEncoding: contentEncodingOf(headers) };
    return { at, status, error, sha256, bytes, text: await textOf(deriver, object) };
  } finally {
    await staged?.discard();
  }
}

function noRoom(): Problem {
  return new Problem('observation_refused', 'This node has no room to fetch addresses for others.');
}

async function textOf(
  deriver: LookServices['deriver'],
  object: { sha256: string; file: string; contentType: string | null; contentEncoding: string | null },
): Promise<Look['text']> {
  try {
    const { tool, toolVersion, content } = await deriver.derive(
      { task: 'text', object },
      { timeoutMs: TEXT_MS },
    );
    return { content, tool: `${tool} ${toolVersion}` };
  } catch (error) {
    // What is seen is said without its text then.
    if (error instanceof NotDerivableError || error instanceof Problem) return null;
    throw error;
  }
}
