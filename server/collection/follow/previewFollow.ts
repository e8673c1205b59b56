import { type FollowPreview, MAX_PREVIEWED_LINKS } from '../../../shared/collection/follow.ts';
import type { FollowPreviewRequest } from '../../../shared/collection/source.ts';
import { yieldToEventLoop } from '../../runtime/background.ts';
import { foundLinksOf, retrievalOfVersion } from '../../store/sqlite/collection/foundLinks.ts';
import { type SourceRow, sourceById, whereFound } from '../../store/sqlite/collection/sources.ts';
import { objectToRead } from '../derived/process/deriver.ts';
import { NotDerivableError } from '../derived/process/tasks.ts';
import { LoginMissingError } from '../profiles/profiles.ts';
import { PrivateAddressCheck } from '../sources/privateSources.ts';
import { normalizeUrl, requireValidFollow, sourceIdOf } from '../sources/sources.ts';
import { roomFor } from './follower.ts';
import {
  type FollowServices,
  fetchDocument,
  isWallOrError,
  type LinkingDocument,
  type LinkingSource,
  type ReadLinks,
  readLinks,
  wallOrError,
} from './readLinks.ts';

/** A person waits for them. */
const MAX_SITEMAPS = 3;
/** How many addresses are looked up before the event loop gets a turn. */
const STEP = 100;

/**
 * Returns what following an address would find now, and records nothing. Of a source the newest version is read; any other
 * address is fetched once.
 *
 * @throws Problem `invalid_field`; the signal's reason.
 */
export async function previewFollow(
  services: FollowServices,
  { url: given, follow, profile }: FollowPreviewRequest,
  signal: AbortSignal,
): Promise<FollowPreview> {
  await requireValidFollow(follow);
  const url = normalizeUrl(given);
  const known = sourceById(services.store.read, sourceIdOf(url));
  const watched = known?.removed ? undefined : known;
  try {
    const { source, document } = watched?.last_sha256
      ? { source: { ...watched, follow }, document: newestVersion(services, watched, watched.last_sha256) }
      : await fetchOnce(
          services,
          { url, follow, needsLogin: profile !== null || watched?.needs_login === true },
          signal,
        );
    const read = await readLinks(services, source, document, {
      known: [],
      maxSitemaps: MAX_SITEMAPS,
      signal,
    });
    return await compare(services, watched, source, read);
  } catch (error) {
    if (!(error instanceof NotDerivableError || error instanceof LoginMissingError)) throw error;
    const nothing = { listed: 0, matched: 0, known: 0, added: 0, items: [] };
    return { ...nothing, complete: false, problem: error.message };
  }
}

function newestVersion({ store }: FollowServices, source: SourceRow, sha256: string): LinkingDocument {
  const version = retrievalOfVersion(store.read, source.key, sha256);
  if (!version || isWallOrError(version.page_label)) throw wallOrError();
  return { object: objectToRead(store, sha256), url: version.final_url };
}

async function fetchOnce(
  services: FollowServices,
  { url, follow, needsLogin }: Pick<LinkingSource, 'url' | 'follow'> & { needsLogin: boolean },
  signal: AbortSignal,
): Promise<{ source: LinkingSource; document: LinkingDocument }> {
  // A request with the login could renew it, which would have to be kept.
  if (needsLogin)
    throw new NotDerivableError('unsupported', 'With a login, this is known after the first check.');
  const source = {
    url,
    follow,
    headers: {},
    ignore_robots: false,
    allow_private: await new PrivateAddressCheck(services.fetching).allows(url),
    needs_login: false,
    profile: null,
  };
  return { source, document: await fetchDocument(services, source, url, signal) };
}

/** Says which addresses are new, as the following of the source would decide. */
async function compare(
  { store: { read } }: FollowServices,
  watched: SourceRow | undefined,
  { follow }: LinkingSource,
  { links, listed, complete, problem }: ReadLinks,
): Promise<FollowPreview> {
  const found = new Set(watched ? foundLinksOf(read, watched.key).map(({ id }) => id) : []);
  const fresh: FollowPreview['items'] = [];
  for (const [index, link] of links.entries()) {
    if (index % STEP === STEP - 1) await yieldToEventLoop();
    const id = sourceIdOf(link.url);
    if (!found.has(id) && whereFound(read, id) === undefined) fresh.push(link);
  }
  const added = Math.min(fresh.length, Math.max(0, roomFor(read, follow, watched?.key)));
  return {
    listed,
    matched: links.length,
    known: links.length - fresh.length,
    added,
    items: fresh.slice(0, Math.min(added, MAX_PREVIEWED_LINKS)),
    complete,
    problem,
  };
}
