import { z } from 'zod';
import { isHttpUrl } from '../../../shared/values/text.ts';
import type { DataciteCreator } from '../../citations/jsonFormats.ts';
import {
  type CitedDeposit,
  doiFrom,
  orIfGone,
  type RemoteDeposit,
  type RemoteFile,
  type Repository,
  RepositoryError,
  uniqueNames,
} from './repository.ts';
import { type RepositoryHttp, understood } from './repositoryHttp.ts';

const recordSchema = z.object({
  id: z.union([z.string(), z.int()]).transform(String),
  is_published: z.boolean().optional(),
  status: z.string().optional(),
  links: z.object({ self_html: z.string().optional() }).optional(),
  pids: z.object({ doi: z.object({ identifier: z.string() }).optional() }).optional(),
  metadata: z.object({ identifiers: z.array(z.object({ identifier: z.string() })).optional() }).optional(),
});
type InvenioRecord = z.output<typeof recordSchema>;

const hitsSchema = z.object({ hits: z.object({ hits: z.array(z.unknown()) }) });
const fileSchema = z.object({
  key: z.string(),
  checksum: z.string().nullish(),
  size: z.int().nullish(),
  status: z.string().optional(),
});
const filesSchema = z.object({ entries: z.array(fileSchema) });
const communitySchema = z.object({ id: z.string() });

/** The longest key of a file (invenio-files-rest, `ObjectVersion.key`). */
const MAX_KEY = 255;

/**
 * InvenioRDM, such as Zenodo (https://inveniordm.docs.cern.ch/reference/rest_api_index/): drafts and records, their files,
 * reserved DOIs, and reviews by communities.
 */
export function invenioRepository(
  http: RepositoryHttp,
  cited: CitedDeposit,
  community: string | null,
): Repository {
  /** The UUID of the community, once it is known. */
  let communityId: string | undefined;
  /** The files that were committed, by the id of their draft and their name, as the answers said. */
  const committed = new Map<string, Map<string, RemoteFile>>();
  const draft = (id: string) => `/api/records/${encodeURIComponent(id)}/draft`;
  const content = (id: string, name: string) =>
    `${draft(id)}/files/${name.split('/').map(encodeURIComponent).join('/')}`;
  const asRemote = (record: InvenioRecord, isPublished: boolean): RemoteDeposit => {
    const page = record.links?.self_html ?? '';
    const place = isPublished ? 'records' : 'uploads';
    return {
      id: record.id,
      url: isHttpUrl(page) ? page : `${http.url}/${place}/${encodeURIComponent(record.id)}`,
      doi: doiFrom(record.pids?.doi?.identifier),
      isPublished,
      isInReview: !isPublished && record.status === 'in_review',
    };
  };
  const read = async (id: string): Promise<RemoteDeposit | undefined> => {
    const found = await orIfGone(http.send({ method: 'GET', path: draft(id) }));
    const record = found === undefined ? undefined : understood(recordSchema, found, http.url);
    // A published record may have a draft of its next edit.
    if (record && statedPublished(record) !== true) return asRemote(record, false);
    const published = await readPublished(id);
    return published && asRemote(published, true);
  };
  const readPublished = async (id: string): Promise<InvenioRecord | undefined> => {
    const path = `/api/records/${encodeURIComponent(id)}`;
    const found = await orIfGone(http.send({ method: 'GET', path }));
    return found === undefined ? undefined : understood(recordSchema, found, http.url);
  };
  const reserveDoi = async (deposit: RemoteDeposit): Promise<RemoteDeposit> => {
    if (deposit.doi !== null) return deposit;
    try {
      const answer = await http.send({ method: 'POST', path: `${draft(deposit.id)}/pids/doi` });
      return { ...deposit, doi: doiFrom(understood(recordSchema, answer, http.url).pids?.doi?.identifier) };
    } catch (error) {
      // Some installations have no DOIs. Whatever else it is, the next request meets it too.
      if (error instanceof RepositoryError) return (await read(deposit.id)) ?? deposit;
      throw error;
    }
  };
  return {
    prepare: async () => {
      if (community === null) return;
      const path = `/api/communities/${encodeURIComponent(community)}`;
      const found = await orIfGone(http.send({ method: 'GET', path }));
      if (found === undefined)
        throw new RepositoryError(`There is no community ${community} at ${http.url}.`, 404);
      communityId = understood(communitySchema, found, http.url).id;
    },
    find: async () => {
      const q = encodeURIComponent(`metadata.identifiers.identifier:"${cited.urn}"`);
      const answer = await http.send({ method: 'GET', path: `/api/user/records?q=${q}&size=25` });
      const { hits } = understood(hitsSchema, answer, http.url);
      const own = hits.hits.flatMap((hit) => {
        const record = recordSchema.safeParse(hit);
        return record.success && isOf(cited, record.data) ? [record.data] : [];
      });
      const found = own.find((record) => statedPublished(record) === true) ?? own[0];
      return found && read(found.id);
    },
    create: async () => {
      const json = invenioRecord(cited, http.url);
      const answer = await http.send({ method: 'POST', path: '/api/records', json });
      const record = understood(recordSchema, answer, http.url);
      return asRemote(record, false);
    },
    read: async (id) => {
      const found = await read(id);
      return found && !found.isPublished ? reserveDoi(found) : found;
    },
    namesOf: (paths) =>
      uniqueNames(paths, (path) => (Buffer.byteLength(path) <= MAX_KEY ? path : shortened(path))),
    files: async ({ id, isPublished }) => {
      const record = isPublished ? `/api/records/${encodeURIComponent(id)}` : draft(id);
      const asked = http.send({ method: 'GET', path: `${record}/files` });
      const answer = isPublished ? await asked : await orIfGone(asked);
      // Not every repository lists the files of a draft. Then what it said of each one counts.
      return answer === undefined
        ? [...(committed.get(id)?.values() ?? [])]
        : understood(filesSchema, answer, http.url).entries.map(remoteFile);
    },
    send: async (id, name, { bytes, read: readFile }) => {
      await http.send({ method: 'POST', path: `${draft(id)}/files`, json: [{ key: name }] });
      const body = { bytes, read: readFile, type: 'application/octet-stream' };
      await http.send({ method: 'PUT', path: `${content(id, name)}/content`, body });
      const answer = await http.send({ method: 'POST', path: `${content(id, name)}/commit` });
      const file = fileSchema.safeParse(answer).data;
      const files = committed.get(id) ?? new Map<string, RemoteFile>();
      if (file?.key === name) committed.set(id, files.set(name, remoteFile(file)));
    },
    remove: async (id, { ref }) => {
      await orIfGone(http.send({ method: 'DELETE', path: content(id, ref) }));
    },
    publish: async (id) => {
      if (communityId === undefined) {
        const answer = await http.send({ method: 'POST', path: `${draft(id)}/actions/publish` });
        const record = recordSchema.safeParse(answer).data;
        if (record?.is_published === true) return asRemote(record, true);
        // Not every repository says so at once, or all of it.
        const published = await readPublished(id);
        if (published && statedPublished(published) !== false) return asRemote(published, true);
        return record && statedPublished(record) === true ? asRemote(record, true) : undefined;
      }
      const json = { receiver: { community: communityId }, type: 'community-submission' };
      await http.send({ method: 'PUT', path: `${draft(id)}/review`, json });
      await http.send({
        method: 'POST',
        path: `${draft(id)}/actions/submit-review`,
        json: { payload: { content: `A copy of the data pack ${cited.work.id}.`, format: 'html' } },
      });
      return undefined;
    },
  };
}

/** Whether a record, or the draft of its next edit, says that it is published; undefined if it does not say. */
function statedPublished({ is_published, status }: InvenioRecord): boolean | undefined {
  return is_published ?? (status === undefined ? undefined : status === 'published');
}

function remoteFile({ key, checksum, size, status }: z.output<typeof fileSchema>): RemoteFile {
  return {
    name: key,
    ref: key,
    isComplete: status === undefined ? typeof checksum === 'string' : status === 'completed',
    bytes: size ?? null,
    checksum: checksumOf(checksum),
  };
}

function isOf({ urn }: CitedDeposit, { metadata }: InvenioRecord): boolean {
  return metadata?.identifiers?.some(({ identifier }) => identifier.toLowerCase() === urn) ?? false;
}

/** `md5:…`; null if there is none. */
function checksumOf(text: string | null | undefined): RemoteFile['checksum'] {
  const [, algorithm, value] = /^([\w-]+):([0-9a-fA-F]+)$/.exec(text ?? '') ?? [];
  if (algorithm === undefined || value === undefined) return null;
  return { algorithm: algorithm.toLowerCase().replace('-', ''), value: value.toLowerCase() };
}

/** The end of a path, with room for a mark. */
function shortened(path: string): string {
  let end = path;
  while (Buffer.byteLength(end) > MAX_KEY - 12) end = end.slice(1);
  return end.toWellFormed().replace(/^\/+/, '');
}

/** DataCite's types of related identifiers, as InvenioRDM names their schemes. */
const SCHEMES = { DOI: 'doi', URL: 'url', URN: 'urn' } as const;

/**
 * Returns a pack as a draft of InvenioRDM (https://inveniordm.docs.cern.ch/reference/metadata/): public, with its
 * fingerprint and its address among the alternate identifiers.
 */
function invenioRecord({ work, datacite, urn, description }: CitedDeposit, repository: string): object {
  const own = [
    { identifier: urn, scheme: 'urn' },
    ...(work.url === undefined ? [] : [{ identifier: work.url, scheme: 'url' }]),
  ];
  return {
    access: { record: 'public', files: 'public' },
    files: { enabled: true },
    metadata: {
      resource_type: { id: 'dataset' },
      title: work.title,
      creators: datacite.creators.map(creatorOf),
      publication_date: datacite.dates[0]?.date,
      publisher: publisherOf(repository),
      description,
      rights: work.license === null ? [] : [{ id: work.license.toLowerCase() }],
      subjects: datacite.subjects,
      ...(datacite.version === undefined ? {} : { version: datacite.version }),
      identifiers: own,
      related_identifiers: datacite.relatedIdentifiers.map(
        ({ relatedIdentifier, relatedIdentifierType, relationType }) => ({
          identifier: relatedIdentifier,
          scheme: SCHEMES[relatedIdentifierType],
          relation_type: { id: relationType.toLowerCase() },
        }),
      ),
    },
  };
}

/** Who publishes the deposit: the repository. */
function publisherOf(repository: string): string {
  const { hostname } = new URL(repository);
  return /(^|\.)zenodo\.org$/.test(hostname) ? 'Zenodo' : hostname;
}

function creatorOf(creator: DataciteCreator): object {
  const { name, nameType, givenName, familyName, nameIdentifiers = [], affiliation = [] } = creator;
  const identifiers = nameIdentifiers.map(({ nameIdentifier }) => ({
    scheme: 'orcid',
    identifier: nameIdentifier.replace('https://orcid.org/', ''),
  }));
  return {
    person_or_org:
      nameType === 'Personal'
        ? { type: 'personal', family_name: familyName ?? name, given_name: givenName ?? '', identifiers }
        : { type: 'organizational', name, identifiers },
    ...(affiliation.length > 0 && { affiliations: affiliation }),
  };
}
