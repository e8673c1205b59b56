import { CITATION_FORMATS, DESCRIPTOR_FORMATS } from '../../shared/archive/citation.ts';
import type { PackFile } from '../../shared/archive/pack.ts';
import type { License } from '../../shared/archive/vocabulary.ts';
import { requireItem } from '../archive/comments.ts';
import { publishedDoi } from '../store/sqlite/archive/deposits.ts';
import { authorsAndLicense, filesOfPack, packById } from '../store/sqlite/archive/packs.ts';
import { onSnapshot } from '../store/sqlite/engine/queries.ts';
import type { Store } from '../store/store.ts';
import { type CitationContext, type CitedWork, doiUrlOf, readCitedItem } from './citedWork.ts';
import { LICENSES_CITED } from './jsonFormats.ts';
import { isTable } from './tables.ts';

/** A link with its relation type (RFC 8288). */
export interface TypedLink {
  rel: string;
  href: string;
  type?: string;
}

/** What the links of a pack or a study are made of. */
interface LinkedItem {
  id: string;
  kind: CitedWork['kind'];
  doi?: string | undefined;
  orcids: string[];
  license: License | null;
  /** The files that are listed. */
  files: readonly PackFile[];
  hasTable: boolean;
  /** The URLs of the packs of a study. */
  parts: readonly string[];
}

const SCHEMA_ORG = 'https://schema.org';
/** With more files, or more authors, only the linkset lists them. */
const MAX_IN_HEADER = 10;

/**
 * Returns the links of a pack or a study for `Link` headers, by the FAIR profile of Signposting
 * (https://signposting.org/FAIR). The most important come first. Long lists are left to the linkset.
 *
 * @throws Problem `not_found`
 */
export function readSignposts({ read }: Pick<Store, 'read'>, id: string, origin: string): TypedLink[] {
  return onSnapshot(read, () => {
    requireItem(read, id);
    const pack = packById(read, id);
    if (!pack) return typedLinks({ ...NOTHING_LISTED, id, kind: 'study' }, origin);
    const { authors, license } = authorsAndLicense(read, pack.ledger_entry);
    const files = filesOfPack(read, pack.ledger_entry);
    const item: LinkedItem = {
      id,
      kind: 'pack',
      doi: publishedDoi(read, id),
      orcids: authors.length > MAX_IN_HEADER ? [] : orcidsOf(authors),
      license,
      files: files.length > MAX_IN_HEADER ? [] : files,
      hasTable: files.some(isTable),
      parts: [],
    };
    return typedLinks(item, origin);
  });
}

const NOTHING_LISTED = { orcids: [], license: null, files: [], hasTable: false, parts: [] };

/** The links with one context (RFC 9264). */
export interface LinkContext {
  anchor: string;
  links: TypedLink[];
}

/**
 * Returns all links of a pack or a study by their context: its page, its descriptions and its files.
 *
 * @throws Problem `not_found`
 */
export function readLinkset({ read }: Pick<Store, 'read'>, id: string, from: CitationContext): LinkContext[] {
  const { work, files } = readCitedItem(read, id, from);
  const links = typedLinks(
    {
      id,
      kind: work.kind,
      doi: work.doi,
      orcids: orcidsOf(work.authors),
      license: work.license,
      files,
      hasTable: files.some(isTable),
      // The parts of a study are packs of this node. Those of a pack are whatever its uploader wrote.
      parts:
        work.kind === 'study'
          ? work.relations.flatMap(({ relation, identifier }) => (relation === 'HasPart' ? [identifier] : []))
          : [],
    },
    from.origin,
  );
  const page = { href: work.url, type: 'text/html' };
  const back = (rel: string, backRel: string) =>
    links
      .filter((link) => link.rel === rel)
      .map(({ href }) => ({ anchor: href, links: [{ rel: backRel, ...page }] }));
  return [{ anchor: work.url, links }, ...back('describedby', 'describes'), ...back('item', 'collection')];
}

function typedLinks(item: LinkedItem, origin: string): TypedLink[] {
  const { id, kind, license, orcids, files, parts, hasTable } = item;
  const linkset = `${origin}/api/items/${id}/linkset`;
  const cite = (format: string) => `${origin}/api/items/${id}/cite?format=${format}`;
  const formats = { ...CITATION_FORMATS, ...(hasTable ? DESCRIPTOR_FORMATS : {}) };
  const digests = new Map(files.map((file) => [file.sha256, file.media_type]));
  return [
    { rel: 'linkset', href: linkset, type: 'application/linkset+json' },
    { rel: 'linkset', href: `${linkset}?format=text`, type: 'application/linkset' },
    { rel: 'cite-as', href: doiUrlOf(item) ?? `${origin}${pagePath(item)}` },
    { rel: 'type', href: `${SCHEMA_ORG}/${kind === 'pack' ? 'Dataset' : 'Collection'}` },
    { rel: 'type', href: `${SCHEMA_ORG}/AboutPage` },
    ...(license ? [{ rel: 'license', href: LICENSES_CITED[license].rightsUri }] : []),
    { rel: 'describedby', href: `${origin}${recordPath(item)}`, type: 'application/json' },
    ...Object.entries(formats).map(([format, type]) => ({ rel: 'describedby', href: cite(format), type })),
    ...orcids.map((orcid) => ({ rel: 'author', href: `https://orcid.org/${orcid}` })),
    ...[...digests].map(([sha256, mediaType]) => ({
      rel: 'item',
      href: `${origin}/api/blobs/${sha256}`,
      type: baseType(mediaType),
    })),
    ...parts.map((href) => ({ rel: 'item', href, type: 'text/html' })),
  ];
}

function pagePath({ id, kind }: Pick<LinkedItem, 'id' | 'kind'>): string {
  return `/${kind === 'pack' ? 'packs' : 'studies'}/${id}`;
}

function recordPath(item: Pick<LinkedItem, 'id' | 'kind'>): string {
  return `/api${pagePath(item)}`;
}

function orcidsOf(authors: readonly { orcid: string | null }[]): string[] {
  return [...new Set(authors.flatMap(({ orcid }) => orcid ?? []))];
}

/** Parameters are left out, because their values may contain characters that a header cannot. */
function baseType(mediaType: string): string {
  return mediaType.split(';', 1)[0]?.trim().toLowerCase() ?? '';
}
