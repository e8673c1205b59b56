import type { PackFile } from '../../../shared/archive/pack.ts';
import type { Event } from '../../../shared/collection/event.ts';
import type { CitedWork } from '../../citations/citedWork.ts';
import { schemaOrgDocument } from '../../citations/jsonFormats.ts';
import type { StudyRow } from '../../store/sqlite/archive/studies.ts';
import type { ListedPack, RecordedSourceRow } from '../../store/sqlite/node/copyPages.ts';
import type { PageContext } from './frame.ts';
import { INDEX, pagePath } from './pagePaths.ts';

/*
 * The schema.org documents of the pages (https://schema.org). Addresses are those of the copy: absolute if the owner
 * named its address, else relative to the page.
 */

const CONTEXT = 'https://schema.org';

/** The address of a file of the copy, from a page one folder down. */
function addressOf({ publicUrl }: PageContext, path: string): string {
  return `${publicUrl ?? '../'}${path}`;
}

/** Returns a pack as a `Dataset`, with the addresses of the copy in place of the node's. */
export function packData(context: PageContext, work: CitedWork, files: readonly PackFile[]): object {
  return withCopyAddresses(context, schemaOrgDocument(work, files, '')) as object;
}

/** The node's own paths, as `schemaOrgDocument` writes them for an empty origin, and the files of the copy. */
const PATHS: readonly [RegExp, (context: PageContext, id: string) => string | undefined][] = [
  [/^\/packs\/(pk_[0-9a-f]{20})$/, (context, id) => addressOf(context, pagePath('packs', id))],
  [/^\/studies\/(st_[0-9a-f]{20})$/, (context, id) => addressOf(context, pagePath('studies', id))],
  [/^\/api\/blobs\/([0-9a-f]{64})$/, objectAddress],
  [/^\/()$/, (context) => addressOf(context, INDEX)],
];
/** The members that hold addresses. Texts that look like a path stay as they are. */
const ADDRESS_MEMBERS = new Set(['@id', 'url', 'contentUrl']);

/** The address of an object; undefined if readers may not read it. */
function objectAddress(context: PageContext, sha256: string): string | undefined {
  return context.whyHidden(sha256) === undefined ? addressOf(context, `archive/${sha256}`) : undefined;
}

function withCopyAddresses(context: PageContext, value: unknown, member = ''): unknown {
  if (Array.isArray(value)) return value.map((each) => withCopyAddresses(context, each, member));
  if (typeof value === 'object' && value !== null)
    return Object.fromEntries(
      Object.entries(value).map(([name, each]) => [name, withCopyAddresses(context, each, name)]),
    );
  if (typeof value !== 'string' || !ADDRESS_MEMBERS.has(member)) return value;
  for (const [pattern, address] of PATHS) {
    const id = pattern.exec(value)?.[1];
    if (id !== undefined) return address(context, id);
  }
  return value;
}

export function studyData(context: PageContext, study: StudyRow, packs: readonly ListedPack[]): object {
  const url = addressOf(context, pagePath('studies', study.id));
  const description = study.description || study.question;
  return {
    '@context': CONTEXT,
    '@type': 'Collection',
    '@id': url,
    url,
    identifier: study.id,
    name: study.title,
    ...(description && { description }),
    datePublished: study.created_at.slice(0, 10),
    publisher: { '@type': 'Organization', name: context.node },
    hasPart: packs.map(({ id, title }) => ({
      '@type': 'Dataset',
      '@id': addressOf(context, pagePath('packs', id)),
      name: title,
    })),
  };
}

export function sourceData(context: PageContext, source: RecordedSourceRow, name: string): object {
  const url = addressOf(context, pagePath('sources', source.id));
  return {
    '@context': CONTEXT,
    '@type': 'ArchiveComponent',
    '@id': url,
    url,
    identifier: source.id,
    name,
    isBasedOn: source.url,
    ...(source.agency && { creator: { '@type': 'Organization', name: source.agency } }),
    ...(source.tags.length > 0 && { keywords: source.tags }),
    holdingArchive: { '@type': 'ArchiveOrganization', name: context.node },
  };
}

export function eventData(context: PageContext, event: Event, title: string): object {
  const url = addressOf(context, pagePath('events', event.id));
  const { sha256 } = event;
  return {
    '@context': CONTEXT,
    '@type': 'ArchiveComponent',
    '@id': url,
    url,
    identifier: String(event.id),
    name: title,
    dateCreated: event.observed_at,
    isBasedOn: event.source.url,
    isPartOf: {
      '@type': 'ArchiveComponent',
      '@id': addressOf(context, pagePath('sources', event.source.id)),
    },
    ...(sha256 !== null && {
      associatedMedia: {
        '@type': 'MediaObject',
        contentUrl: objectAddress(context, sha256),
        sha256,
      },
    }),
  };
}

/** The whole archive, for its first page. */
export function catalogData(context: PageContext): object {
  return {
    '@context': CONTEXT,
    '@type': 'DataCatalog',
    '@id': context.publicUrl ?? INDEX,
    url: context.publicUrl ?? INDEX,
    name: context.node,
  };
}
