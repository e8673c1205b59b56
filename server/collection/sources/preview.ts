import type { SourcePreview } from '../../../shared/collection/source.ts';
import { MEGABYTE } from '../../../shared/limits.ts';
import type { Settings } from '../../../shared/node/settings.ts';
import { sourceById } from '../../store/sqlite/collection/sources.ts';
import type { Store } from '../../store/store.ts';
import type { FetchServices } from '../fetch/attempt.ts';
import { fetchObject } from '../fetch/fetchObject.ts';
import { describePage } from '../record/pageLabels.ts';
import { hashBody } from './hashBody.ts';
import { PrivateAddressCheck } from './privateSources.ts';
import { normalizeUrl, sourceIdOf } from './sources.ts';

/**
 * Fetches a URL once, as a check would, and returns what would be stored. Stores nothing.
 *
 * @throws HostBackoffError; the signal's reason.
 */
export async function previewSource(
  { store, ...services }: FetchServices & { store: Store },
  settings: Settings,
  givenUrl: string,
  signal: AbortSignal,
): Promise<SourcePreview> {
  const url = normalizeUrl(givenUrl);
  const known = sourceById(store.read, sourceIdOf(url));
  const attempt = await fetchObject(services, {
    url,
    headers: {},
    userAgent: settings.user_agent,
    ignoreRobots: false,
    timeoutMs: settings.request_timeout_seconds * 1000,
    maxBytes: Math.floor(settings.max_object_mb * MEGABYTE),
    validators: async () => undefined,
    receive: hashBody,
    signal,
  });
  return {
    url,
    final_url: attempt.final_url,
    status: attempt.status,
    error: attempt.error,
    content_type: attempt.content_type,
    sha256: attempt.received?.sha256 ?? null,
    bytes: attempt.received?.bytes ?? null,
    duration_ms: attempt.duration_ms,
    ...(await describePage({ ...attempt, url })),
    watched_as: known && !known.removed ? known.id : null,
    private_address: await new PrivateAddressCheck(services).allows(url),
  };
}
