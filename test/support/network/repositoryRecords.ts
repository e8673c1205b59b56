import { createHash } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';

/** Writes the answer to a request for a file; the first one answers the first request, the last one all others. */
export type FileStep = (response: ServerResponse, request: IncomingMessage, bytes: Buffer) => void;

export interface ServedFile {
  name: string;
  bytes: Buffer;
  /** What the repository states; by default what is true. */
  md5?: string | null;
  size?: number;
  steps?: FileStep[];
  restricted?: boolean;
}

/** A record, whatever the repository. */
export interface ServedRecord {
  id: string;
  title: string;
  doi: string;
  conceptDoi?: string;
  license: { id: string; url: string; name: string };
  access?: 'open' | 'restricted' | 'embargoed';
  files: ServedFile[];
}

export const CC_BY = {
  id: 'cc-by-4.0',
  url: 'https://creativecommons.org/licenses/by/4.0/',
  name: 'CC-By Attribution 4.0 International',
};
export const CC_BY_NC = {
  id: 'cc-by-nc-4.0',
  url: 'https://creativecommons.org/licenses/by-nc/4.0/',
  name: 'CC-By Attribution-NonCommercial 4.0 International',
};
export const ORCID = '0000-0002-1825-0097';

export type Kind =
  | 'zenodo'
  | 'invenio'
  | 'dataverse'
  | 'osf'
  | 'figshare'
  | 'dryad'
  | 'signposting'
  | 'schemaOrg';
export const KINDS: readonly Kind[] = [
  'zenodo',
  'invenio',
  'dataverse',
  'osf',
  'figshare',
  'dryad',
  'signposting',
  'schemaOrg',
];

/** Whether a repository of a kind states checksums and sizes. Links without a description do not. */
export function statesChecksums(kind: Kind): boolean {
  return kind !== 'signposting';
}

/** What the answers name: where the server is, and where its pages and files are. */
interface Served {
  kind: Kind;
  origin: string;
  landingPath(record: ServedRecord): string;
  filePath(record: ServedRecord, index: number): string;
}

/** Returns the page of a record. */
export function pageOf(
  server: Served,
  record: ServedRecord,
): { body: string; type: string; headers?: Record<string, string> } {
  const type = 'text/html; charset=utf-8';
  const title = record.title.replaceAll('<', '&lt;');
  if (server.kind === 'osf')
    return {
      type,
      body: `<html><head><meta property="og:site_name" content="OSF"><title>OSF | ${title}</title>`,
    };
  if (server.kind === 'signposting') {
    // The address ends with the name. Long lists are in a link set.
    const href = (file: ServedFile, index: number) =>
      `${fileUrl(server, record, index)}/${encodeURIComponent(file.name)}`;
    const isLong = record.files.length > 20;
    const items = isLong
      ? [`<${server.origin}/linkset/${record.id}>; rel="linkset"; type="application/linkset+json"`]
      : record.files.map((file, index) => `<${href(file, index)}>; rel="item"; type="text/csv"`);
    return {
      type,
      headers: {
        Link: [
          `<https://doi.org/${record.doi}>; rel="cite-as"`,
          `<https://orcid.org/${ORCID}>; rel="author"`,
          `<${record.license.url}>; rel="license"`,
          `<https://schema.org/Dataset>; rel="type"`,
          ...items,
        ].join(', '),
      },
      body: `<html><head><title>${title}</title></head><body>A landing page.</body></html>`,
    };
  }
  const about = server.kind === 'schemaOrg' ? jsonLd(server, record) : undefined;
  const script = about
    ? `<script type="application/ld+json">${JSON.stringify(about).replaceAll('<', '\\u003c')}</script>`
    : '';
  return {
    type,
    body: `<html><head><title>${title}</title>${script}</head><body><h1>${title}</h1></body></html>`,
  };
}

function fileUrl(server: Served, record: ServedRecord, index: number): string {
  return server.origin + server.filePath(record, index);
}

function jsonLd(server: Served, record: ServedRecord): object {
  return {
    '@context': 'https://schema.org/',
    '@type': 'Dataset',
    '@id': `https://doi.org/${record.doi}`,
    name: record.title,
    description: '<p>Levels at <b>three</b> gauges.</p>',
    creator: [
      {
        '@type': 'Person',
        name: 'Carberry, Josiah',
        '@id': `https://orcid.org/${ORCID}`,
        affiliation: { name: 'Brown University' },
      },
    ],
    license: record.license.url,
    keywords: 'tides, gauges',
    distribution: record.files.map((file, index) => ({
      '@type': 'DataDownload',
      name: file.name,
      contentUrl: server.filePath(record, index),
      contentSize: String(sizeOf(file)),
      ...(md5Of(file) !== null && { md5: md5Of(file) }),
    })),
  };
}

/** Returns what the interface of the kind answers, or undefined. */
export function entryOf(server: Served, record: ServedRecord, url: URL): unknown {
  switch (server.kind) {
    case 'zenodo':
      return url.pathname === `/api/records/${record.id}` ? zenodo(server, record) : undefined;
    case 'invenio':
      return invenio(server, record, url);
    case 'dataverse':
      return dataverse(record, url);
    case 'osf':
      return osf(server, record, url);
    case 'figshare':
      return figshare(server, record, url);
    case 'dryad':
      return dryad(server, record, url);
    case 'signposting':
      return url.pathname === `/linkset/${record.id}` ? linkSet(server, record) : undefined;
    case 'schemaOrg':
      return undefined;
  }
}

function linkSet(server: Served, record: ServedRecord): object {
  const item = record.files.map((file, index) => ({
    href: `${fileUrl(server, record, index)}/${encodeURIComponent(file.name)}`,
    type: 'text/csv',
  }));
  return { linkset: [{ anchor: server.origin + server.landingPath(record), item }] };
}

function zenodo(server: Served, record: ServedRecord): object {
  const self = `${server.origin}/api/records/${record.id}`;
  return {
    id: 7,
    doi: record.doi,
    conceptdoi: record.conceptDoi,
    links: { self, self_html: `${server.origin}/records/${record.id}` },
    metadata: {
      title: record.title,
      description: '<p>Levels at <b>three</b> gauges.</p>',
      access_right: record.access ?? 'open',
      ...(record.access === 'embargoed' && { embargo_date: '2030-01-01' }),
      creators: [{ name: 'Carberry, Josiah', affiliation: 'Brown University', orcid: ORCID }],
      keywords: ['tides', 'gauges'],
      license: { id: record.license.id },
    },
    files: record.files.map((file, index) => ({
      id: `file-${index}`,
      key: file.name,
      size: sizeOf(file),
      ...(md5Of(file) !== null && { checksum: `md5:${md5Of(file)}` }),
      links: { self: fileUrl(server, record, index) },
    })),
  };
}

function invenio(server: Served, record: ServedRecord, url: URL): unknown {
  const self = `${server.origin}/api/records/${record.id}`;
  if (url.pathname === `/api/records/${record.id}/files`)
    return {
      enabled: true,
      links: { self: `${self}/files` },
      entries: record.files.map((file, index) => ({
        key: file.name,
        size: sizeOf(file),
        mimetype: 'text/csv',
        ...(md5Of(file) !== null && { checksum: `md5:${md5Of(file)}` }),
        links: { self: `${self}/files/${index}`, content: fileUrl(server, record, index) },
      })),
    };
  if (url.pathname !== `/api/records/${record.id}`) return undefined;
  return {
    id: record.id,
    links: { self, self_html: `${server.origin}/records/${record.id}`, files: `${self}/files` },
    pids: { doi: { identifier: record.doi, provider: 'datacite' } },
    ...(record.conceptDoi && { parent: { pids: { doi: { identifier: record.conceptDoi } } } }),
    access: {
      record: 'public',
      files: record.access && record.access !== 'open' ? 'restricted' : 'public',
      embargo: record.access === 'embargoed' ? { active: true, until: '2030-01-01' } : { active: false },
    },
    files: { enabled: record.files.length > 0, count: record.files.length },
    metadata: {
      title: record.title,
      description: '<p>Levels at <b>three</b> gauges.</p>',
      creators: [
        {
          person_or_org: {
            type: 'personal',
            name: 'Carberry, Josiah',
            identifiers: [{ scheme: 'orcid', identifier: ORCID }],
          },
          affiliations: [{ name: 'Brown University' }],
        },
      ],
      rights: [{ id: record.license.id, title: { en: record.license.name } }],
      subjects: [{ subject: 'tides' }, { subject: 'gauges' }],
    },
  };
}

function dataverse(record: ServedRecord, url: URL): unknown {
  const isDataset =
    /^\/api\/datasets\/:persistentId\/?$/.test(url.pathname) &&
    url.searchParams.get('persistentId') === `doi:${record.doi}`;
  if (!isDataset) return undefined;
  const compound = (typeName: string, value: object[]) => ({
    typeName,
    multiple: true,
    typeClass: 'compound',
    value,
  });
  return {
    status: 'OK',
    data: {
      id: 11,
      protocol: 'doi',
      persistentUrl: `https://doi.org/${record.doi}`,
      latestVersion: {
        datasetPersistentId: `doi:${record.doi}`,
        versionState: 'RELEASED',
        license: { name: record.license.name, uri: record.license.url },
        metadataBlocks: {
          citation: {
            fields: [
              { typeName: 'title', multiple: false, typeClass: 'primitive', value: record.title },
              compound('author', [
                {
                  authorName: { value: 'Carberry, Josiah' },
                  authorAffiliation: { value: 'Brown University' },
                  authorIdentifierScheme: { value: 'ORCID' },
                  authorIdentifier: { value: ORCID },
                },
              ]),
              compound('dsDescription', [
                { dsDescriptionValue: { value: '<p>Levels at <b>three</b> gauges.</p>' } },
              ]),
              compound('keyword', [
                { keywordValue: { value: 'tides' } },
                { keywordValue: { value: 'gauges' } },
              ]),
            ],
          },
        },
        files: record.files.map((file, index) => ({
          label: file.name.slice(file.name.lastIndexOf('/') + 1),
          ...(file.name.includes('/') && {
            directoryLabel: file.name.slice(0, file.name.lastIndexOf('/')),
          }),
          restricted: file.restricted ?? record.access === 'restricted',
          dataFile: {
            id: `${record.id}-${index}`,
            filename: file.name,
            contentType: 'text/csv',
            filesize: sizeOf(file),
            ...(md5Of(file) !== null && {
              md5: md5Of(file),
              checksum: { type: 'MD5', value: md5Of(file) },
            }),
          },
        })),
      },
    },
  };
}

function osf(server: Served, record: ServedRecord, url: URL): unknown {
  const api = `${server.origin}/v2`;
  const related = (href: string) => ({ links: { related: { href } } });
  const pageOf = (files: readonly ServedFile[], itemOf: (file: ServedFile, index: number) => object) => {
    const size = 1_000;
    const page = Number(url.searchParams.get('page') ?? '1');
    const first = (page - 1) * size;
    return {
      data: files.slice(first, first + size).map((file, index) => itemOf(file, first + index)),
      links: {
        next: first + size >= files.length ? null : `${server.origin}${url.pathname}?page=${page + 1}`,
        meta: { total: files.length, per_page: size },
      },
    };
  };
  switch (url.pathname) {
    case `/v2/guids/${record.id}/`:
    case `/v2/nodes/${record.id}/`:
      return {
        data: {
          id: record.id,
          type: 'nodes',
          attributes: {
            title: record.title,
            description: 'Levels at three gauges.',
            tags: ['tides', 'gauges'],
            public: true,
          },
          relationships: {
            files: related(`${api}/nodes/${record.id}/files/`),
            contributors: related(`${api}/nodes/${record.id}/contributors/`),
            identifiers: related(`${api}/nodes/${record.id}/identifiers/`),
            license: related(`${api}/licenses/${record.license.id}/`),
          },
          links: { html: `${server.origin}/${record.id}/` },
        },
      };
    case `/v2/licenses/${record.license.id}/`:
      return { data: { attributes: { name: record.license.name, url: null } } };
    case `/v2/nodes/${record.id}/identifiers/`:
      return { data: [{ attributes: { category: 'doi', value: record.doi } }], links: { next: null } };
    case `/v2/nodes/${record.id}/contributors/`:
      return {
        data: [
          {
            attributes: { bibliographic: true },
            embeds: {
              users: {
                data: {
                  attributes: {
                    full_name: 'Josiah Carberry',
                    social: { orcid: ORCID },
                    employment: [{ institution: 'Brown University' }],
                  },
                },
              },
            },
          },
        ],
        links: { next: null },
      };
    case `/v2/nodes/${record.id}/files/`:
      return {
        data: [
          {
            attributes: { kind: 'folder', name: 'osfstorage', provider: 'osfstorage' },
            relationships: { files: related(`${api}/nodes/${record.id}/files/osfstorage/`) },
          },
        ],
        links: { next: null },
      };
    case `/v2/nodes/${record.id}/files/osfstorage/`:
      return pageOf(record.files, (file, index) => ({
        attributes: {
          kind: 'file',
          name: file.name,
          size: sizeOf(file),
          extra: { hashes: md5Of(file) === null ? {} : { md5: md5Of(file) } },
        },
        links: { download: fileUrl(server, record, index) },
      }));
    default:
      return undefined;
  }
}

function figshare(server: Served, record: ServedRecord, url: URL): unknown {
  const entry = `/v2/articles/${record.id}/versions/1`;
  const itemOf = (file: ServedFile, index: number) => ({
    id: index + 1,
    name: file.name,
    size: sizeOf(file),
    is_link_only: false,
    download_url: fileUrl(server, record, index),
    supplied_md5: '',
    computed_md5: md5Of(file) ?? '',
  });
  if (url.pathname === `${entry}/files`) {
    const size = Number(url.searchParams.get('page_size') ?? '10');
    const page = Number(url.searchParams.get('page') ?? '1');
    const first = (page - 1) * size;
    return record.files.slice(first, first + size).map((file, index) => itemOf(file, first + index));
  }
  if (url.pathname !== entry) return undefined;
  return {
    id: 21,
    title: record.title,
    doi: record.doi,
    description: '<p>Levels at <b>three</b> gauges.</p>',
    authors: [{ id: 3, full_name: 'Josiah Carberry', orcid_id: ORCID }],
    license: { value: 1, name: record.license.name, url: record.license.url },
    keywords: ['tides', 'gauges'],
    is_embargoed: record.access === 'embargoed',
    embargo_date: record.access === 'embargoed' ? '2030-01-01' : null,
    is_confidential: record.access === 'restricted',
    files: record.files.slice(0, 10).map(itemOf),
    url_public_html: `${server.origin}/articles/dataset/A_title/${record.id}`,
  };
}

function dryad(server: Served, record: ServedRecord, url: URL): unknown {
  const path = decodeURIComponent(url.pathname);
  if (path === `/api/v2/datasets/doi:${record.doi}`)
    return {
      _links: { 'stash:version': { href: `/api/v2/versions/${record.id}` } },
      identifier: `doi:${record.doi}`,
      title: record.title,
      abstract: '<p>Levels at <b>three</b> gauges.</p>',
      authors: [{ firstName: 'Josiah', lastName: 'Carberry', orcid: ORCID, affiliation: 'Brown University' }],
      keywords: ['tides', 'gauges'],
      curationStatus: record.access === 'embargoed' ? 'Embargoed' : 'Published',
      visibility: record.access === 'restricted' ? 'restricted' : 'public',
      license: record.license === CC_BY ? 'https://spdx.org/licenses/CC-BY-4.0.html' : record.license.url,
    };
  if (path !== `/api/v2/versions/${record.id}/files`) return undefined;
  const size = 100;
  const page = Number(url.searchParams.get('page') ?? '1');
  const files = record.files.slice((page - 1) * size, page * size);
  return {
    _links: page * size < record.files.length ? { next: { href: `${path}?page=${page + 1}` } } : {},
    count: files.length,
    total: record.files.length,
    _embedded: {
      'stash:files': files.map((file, index) => ({
        _links: { 'stash:download': { href: server.filePath(record, (page - 1) * size + index) } },
        path: file.name,
        size: sizeOf(file),
        mimeType: 'text/csv',
        status: 'created',
        ...(md5Of(file) !== null && { digest: md5Of(file), digestType: 'md5' }),
      })),
    },
  };
}

export function md5(bytes: Buffer): string {
  return createHash('md5').update(bytes).digest('hex');
}

function md5Of({ md5: stated, bytes }: ServedFile): string | null {
  return stated === undefined ? md5(bytes) : stated;
}

function sizeOf({ size, bytes }: ServedFile): number {
  return size ?? bytes.length;
}
