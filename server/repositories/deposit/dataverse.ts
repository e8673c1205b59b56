import { z } from 'zod';
import { uriOfIdentifier } from '../../../shared/archive/pack.ts';
import type { License } from '../../../shared/archive/vocabulary.ts';
import { nameParts } from '../../citations/citedWork.ts';
import { storedZip } from '../../zip/writeZip.ts';
import {
  type CitedDeposit,
  type DepositedFile,
  doiFrom,
  orIf,
  orIfGone,
  type RemoteDeposit,
  type RemoteFile,
  type Repository,
  RepositoryError,
  TOO_LARGE,
  uniqueNames,
} from './repository.ts';
import { type RepositoryHttp, type StreamedBody, understood } from './repositoryHttp.ts';

const dataOf = <Schema extends z.ZodType>(data: Schema) => z.object({ data });

const createdSchema = dataOf(z.object({ persistentId: z.string() }));
const otherIdSchema = z.object({ otherIdValue: z.object({ value: z.string() }) });
const fileSchema = z.object({
  label: z.string().optional(),
  directoryLabel: z.string().nullish(),
  dataFile: z.object({
    id: z.int(),
    filename: z.string().optional(),
    filesize: z.int().nullish(),
    md5: z.string().nullish(),
    checksum: z.object({ type: z.string(), value: z.string() }).nullish(),
  }),
});
const fileListSchema = dataOf(z.array(fileSchema));
const datasetSchema = dataOf(
  z.object({
    latestVersion: z.object({
      versionState: z.string(),
      files: z.array(fileSchema).optional(),
      metadataBlocks: z
        .object({
          citation: z
            .object({ fields: z.array(z.object({ typeName: z.string(), value: z.unknown() })) })
            .optional(),
        })
        .optional(),
    }),
  }),
);
const searchSchema = dataOf(z.object({ items: z.array(z.object({ global_id: z.string().optional() })) }));
const contentsSchema = dataOf(
  z.array(
    z.object({
      type: z.string(),
      id: z.int().optional(),
      protocol: z.string().optional(),
      authority: z.string().optional(),
      identifier: z.string().optional(),
      separator: z.string().optional(),
    }),
  ),
);
const userSchema = dataOf(z.object({ email: z.string() }));

/** How many of the newest datasets of a collection are looked at for the deposit that may be there. */
const MAX_LOOKED_AT = 20;

/**
 * Dataverse, by its native API (https://guides.dataverse.org/en/latest/api/native-api.html): datasets in a collection,
 * their files, and their publication.
 */
export function dataverseRepository(
  http: RepositoryHttp,
  cited: CitedDeposit,
  { community, contact }: { community: string | null; contact: string },
): Repository {
  const collection = `/api/dataverses/${encodeURIComponent(community ?? ':root')}`;
  const dataset = (id: string, action: string, query = '') =>
    `/api/datasets/:persistentId/${action}?persistentId=${encodeURIComponent(id)}${query}`;
  const readDataset = async (id: string) => {
    const found = await orIfGone(http.send({ method: 'GET', path: dataset(id, '') }));
    return found === undefined ? undefined : understood(datasetSchema, found, http.url).data.latestVersion;
  };
  // What an installation shows of a dataset may leave its files out.
  const listFiles = async (id: string) => {
    const answer = await http.send({ method: 'GET', path: dataset(id, 'versions/:latest/files') });
    return understood(fileListSchema, answer, http.url).data;
  };
  const asRemote = (id: string, state: string): RemoteDeposit => ({
    id,
    url: `${http.url}/dataset.xhtml?persistentId=${encodeURIComponent(id)}`,
    doi: id.startsWith('doi:') ? doiFrom(id.slice(4)) : null,
    isPublished: state !== 'DRAFT',
    isInReview: false,
  });
  const firstOfPack = async (ids: readonly string[]): Promise<RemoteDeposit | undefined> => {
    for (const id of ids) {
      const version = await readDataset(id);
      if (version && isOf(cited, version)) return asRemote(id, version.versionState);
    }
    return undefined;
  };
  return {
    // A collection that does not exist creates nothing.
    prepare: () => Promise.resolve(),
    find: async () => {
      const q = encodeURIComponent(`otherIdValue:"${cited.urn}"`);
      const path = `/api/search?q=${q}&type=dataset&per_page=25`;
      const searched = await orIfGone(http.send({ method: 'GET', path }));
      const hits = searched === undefined ? [] : understood(searchSchema, searched, http.url).data.items;
      const found = await firstOfPack(hits.flatMap(({ global_id }) => global_id ?? []));
      if (found) return found;
      // The index of the search may be behind. The list of the collection is not, but that of a large one is too long.
      const contents = http.send({ method: 'GET', path: `${collection}/contents` });
      const listed = await orIf([TOO_LARGE], contents);
      if (listed === undefined) return undefined;
      const newest = understood(contentsSchema, listed, http.url)
        .data.filter(({ type }) => type === 'dataset')
        .toSorted((left, right) => (right.id ?? 0) - (left.id ?? 0))
        .slice(0, MAX_LOOKED_AT);
      return firstOfPack(
        newest.flatMap(({ protocol, authority, identifier, separator = '/' }) =>
          protocol && authority && identifier ? `${protocol}:${authority}${separator}${identifier}` : [],
        ),
      );
    },
    create: async () => {
      const json = dataverseDataset(cited, contact || (await ownEmail(http)));
      const answer = await orIfGone(http.send({ method: 'POST', path: `${collection}/datasets`, json }));
      if (answer === undefined)
        throw new RepositoryError(`There is no collection ${community ?? ':root'} at ${http.url}.`, 404);
      return asRemote(understood(createdSchema, answer, http.url).data.persistentId, 'DRAFT');
    },
    read: async (id) => {
      const version = await readDataset(id);
      return version && asRemote(id, version.versionState);
    },
    namesOf: (paths) => uniqueNames(paths, allowedPath),
    files: async ({ id }) => {
      const files = (await readDataset(id))?.files ?? (await listFiles(id));
      return files.map(
        ({ label, directoryLabel, dataFile }): RemoteFile => ({
          name: [directoryLabel, label ?? dataFile.filename].filter(Boolean).join('/'),
          ref: String(dataFile.id),
          isComplete: true,
          bytes: dataFile.filesize ?? null,
          checksum: checksumOf(dataFile),
        }),
      );
    },
    send: async (id, name, file) => {
      await http.send({ method: 'POST', path: dataset(id, 'add'), body: formOf(name, file) });
    },
    remove: async (_id, { ref }) => {
      await orIfGone(http.send({ method: 'DELETE', path: `/api/files/${encodeURIComponent(ref)}` }));
    },
    publish: async (id) => {
      await http.send({ method: 'POST', path: dataset(id, 'actions/:publish', '&type=major') });
      return undefined;
    },
  };
}

function isOf(
  { urn }: CitedDeposit,
  { metadataBlocks }: z.output<typeof datasetSchema>['data']['latestVersion'],
): boolean {
  const others = metadataBlocks?.citation?.fields.find(({ typeName }) => typeName === 'otherId')?.value;
  if (!Array.isArray(others)) return false;
  return others.some((other) => otherIdSchema.safeParse(other).data?.otherIdValue.value === urn);
}

/** Returns the address of the token's account; undefined if it cannot be read. The repository then says what it misses. */
async function ownEmail(http: RepositoryHttp): Promise<string | undefined> {
  try {
    const answer = await http.send({ method: 'GET', path: '/api/users/:me' });
    return userSchema.safeParse(answer).data?.data.email;
  } catch (error) {
    if (error instanceof RepositoryError) return undefined;
    throw error;
  }
}

function checksumOf({ checksum, md5 }: z.output<typeof fileSchema>['dataFile']): RemoteFile['checksum'] {
  if (checksum)
    return { algorithm: checksum.type.toLowerCase().replace('-', ''), value: checksum.value.toLowerCase() };
  return md5 ? { algorithm: 'md5', value: md5.toLowerCase() } : null;
}

/**
 * Replaces what names in Dataverse may not have. Folders: all but letters without accents, digits, `_`, `-`, `.`, spaces;
 * no point at their beginning. Files: also all but ASCII, because not every installation keeps it.
 */
function allowedPath(path: string): string {
  const folders = path.split('/');
  const file = folders.pop() ?? '';
  return [
    ...folders.map((folder) => folder.replace(/[^\w\-. ]/gu, '_').replace(/^[. ]|[. ]$/gu, '_')),
    file.replace(/[^\x20-\x7e]|[\\/:*?"<>|;#]/gu, '_'),
  ].join('/');
}

/** Dataverse unpacks a ZIP once: one in a ZIP arrives as it is. */
const ZIP = /\.zip$/i;

/** Returns the form that adds a file, without ingest: tabular files stay as they are. */
function formOf(name: string, file: DepositedFile): StreamedBody {
  const folder = name.split('/').slice(0, -1).join('/');
  const fileName = name.slice(folder === '' ? 0 : folder.length + 1);
  const isWrapped = ZIP.test(name) || file.mediaType.startsWith('application/zip');
  const wrapped = storedZip([{ name, bytes: file.bytes, crc: file.crc, read: () => file.read() }]);
  const content = isWrapped ? wrapped : file;
  const boundary = `strongroom-${file.digests.get('sha256') ?? ''}`;
  const json = JSON.stringify({
    ...(folder === '' ? {} : { directoryLabel: folder }),
    description: name === file.path ? '' : `In the pack: ${file.path}`,
    restrict: 'false',
    tabIngest: 'false',
  });
  const part = (head: string) => `--${boundary}\r\nContent-Disposition: form-data; ${head}\r\n\r\n`;
  const type = isWrapped ? 'application/zip' : file.mediaType;
  const before = Buffer.from(
    `${part('name="jsonData"')}${json}\r\n${part(`name="file"; filename="${fileName}"\r\nContent-Type: ${type}`)}`,
  );
  const after = Buffer.from(`\r\n--${boundary}--\r\n`);
  return {
    bytes: before.length + content.bytes + after.length,
    type: `multipart/form-data; boundary=${boundary}`,
    read: async function* () {
      yield before;
      yield* content.read();
      yield after;
    },
  };
}

/** The licences by the names and addresses under which installations of Dataverse have them. */
const LICENSES: Record<License, { name: string; uri: string }> = {
  'CC0-1.0': { name: 'CC0 1.0', uri: 'http://creativecommons.org/publicdomain/zero/1.0' },
  'CC-BY-4.0': { name: 'CC BY 4.0', uri: 'http://creativecommons.org/licenses/by/4.0' },
};

/** The relations that make a work a "related publication" in Dataverse. Others are "related material". */
const PUBLICATION_RELATIONS: ReadonlySet<string> = new Set([
  'IsSupplementTo',
  'IsCitedBy',
  'IsReferencedBy',
  'IsDescribedBy',
  'IsDocumentedBy',
  'IsPublishedIn',
]);

interface Field {
  typeName: string;
  typeClass: 'primitive' | 'compound' | 'controlledVocabulary';
  multiple: boolean;
  value: unknown;
}

/**
 * Returns a pack as a dataset of Dataverse: the citation block of its native API
 * (https://guides.dataverse.org/en/latest/api/native-api.html), with the fingerprint as "other identifier".
 *
 * @param contact the e-mail address of the contact, which Dataverse requires; undefined if none is known
 */
function dataverseDataset(cited: CitedDeposit, contact: string | undefined): object {
  const { work } = cited;
  const fields: Field[] = [
    text('title', work.title),
    compounds('author', work.authors.map(authorOf)),
    compounds('datasetContact', contact === undefined ? [] : [{ datasetContactEmail: contact }]),
    compounds('dsDescription', [{ dsDescriptionValue: cited.description }]),
    // Required. A pack says nothing that would choose another one.
    { typeName: 'subject', typeClass: 'controlledVocabulary', multiple: true, value: ['Other'] },
    compounds(
      'keyword',
      cited.datacite.subjects.map(({ subject }) => ({ keywordValue: subject })),
    ),
    compounds('otherId', [{ otherIdAgency: 'SHA-256', otherIdValue: cited.urn }]),
    ...(work.url === undefined ? [] : [text('alternativeURL', work.url)]),
    text('distributionDate', cited.datacite.dates[0]?.date ?? ''),
    ...relatedFields(cited),
  ];
  return {
    datasetVersion: {
      ...(work.license === null ? {} : { license: LICENSES[work.license] }),
      metadataBlocks: {
        citation: {
          displayName: 'Citation Metadata',
          fields: fields.filter(({ value }) => !Array.isArray(value) || value.length > 0),
        },
      },
    },
  };
}

function authorOf(author: CitedDeposit['work']['authors'][number]): Record<string, string> {
  const parts = nameParts(author);
  return {
    authorName: 'family' in parts ? `${parts.family}, ${parts.given}` : parts.literal,
    ...(author.affiliation ? { authorAffiliation: author.affiliation } : {}),
    ...(author.orcid === null ? {} : { authorIdentifierScheme: 'ORCID', authorIdentifier: author.orcid }),
  };
}

function relatedFields({ work, datacite }: CitedDeposit): Field[] {
  const related = datacite.relatedIdentifiers.map((each, index) => ({
    ...each,
    uri: uriOfIdentifier(work.relations[index]?.identifier ?? each.relatedIdentifier),
  }));
  const publications = related.filter(({ relationType }) => PUBLICATION_RELATIONS.has(relationType));
  const others = related.filter(({ relationType }) => !PUBLICATION_RELATIONS.has(relationType));
  return [
    compounds(
      'publication',
      publications.map(({ relationType, relatedIdentifier, relatedIdentifierType, uri }) => ({
        publicationCitation: `${relationType}: ${uri}`,
        publicationIDType: relatedIdentifierType.toLowerCase(),
        publicationIDNumber: relatedIdentifier,
        ...(uri.startsWith('http') ? { publicationURL: uri } : {}),
      })),
    ),
    {
      typeName: 'relatedMaterial',
      typeClass: 'primitive',
      multiple: true,
      value: others.map(({ relationType, uri }) => `${relationType}: ${uri}`),
    },
  ];
}

const VOCABULARIES: ReadonlySet<string> = new Set(['authorIdentifierScheme', 'publicationIDType']);

function text(typeName: string, value: string): Field {
  return { typeName, typeClass: 'primitive', multiple: false, value };
}

function compounds(typeName: string, values: readonly Record<string, string>[]): Field {
  const value = values.map((each) =>
    Object.fromEntries(
      Object.entries(each).map(([name, content]): [string, Field] => [
        name,
        VOCABULARIES.has(name)
          ? { typeName: name, typeClass: 'controlledVocabulary', multiple: false, value: content }
          : text(name, content),
      ]),
    ),
  );
  return { typeName, typeClass: 'compound', multiple: true, value };
}
