import type { Pack, PackFile } from '../../../shared/archive/pack.ts';
import { Problem } from '../../../shared/problems.ts';
import { iterateCitedPacks } from '../../store/sqlite/archive/citations.ts';
import { packById } from '../../store/sqlite/archive/packs.ts';
import type { StudyRow } from '../../store/sqlite/archive/studies.ts';
import type { ReadDatabase } from '../../store/sqlite/engine/open.ts';
import { requireItem } from '../comments/comments.ts';
import { readPack } from '../packs/readPack.ts';
import { requireStudy } from '../studies/studies.ts';
import { type CitedAuthor, type CitedRelation, type CitedWork, oneLine } from './citedWork.ts';

/** The node that is cited: its URL in the request, and its name. */
export interface CitationContext {
  origin: string;
  publisher: string;
}

/** The maximum number of packs that the citation of a study lists. */
const MAX_PARTS = 500;
const ALL = -1;

/** @throws Problem `not_found` */
export function readCitedWork(database: ReadDatabase, id: string, from: CitationContext): CitedWork {
  return readCitedItem(database, id, from).work;
}

/** Returns a pack as it is cited, and its files. @throws Problem `not_found`, also for a study. */
export function readCitedPack(
  database: ReadDatabase,
  id: string,
  from: CitationContext,
): { work: CitedWork; files: PackFile[] } {
  const cited = readCitedItem(database, id, from);
  if (cited.work.kind === 'study') throw new Problem('not_found', `${id} is a study, which has no files.`);
  return cited;
}

/**
 * Returns a pack or a study as it is cited, and the files of a pack.
 *
 * @param packs the number of a study's packs that are read, oldest first; by default all. Authors, sizes and parts of
 * the study are those of these packs.
 * @throws Problem `not_found`
 */
export function readCitedItem(
  database: ReadDatabase,
  id: string,
  from: CitationContext,
  packs = ALL,
): { work: CitedWork; files: PackFile[] } {
  return database
    .transaction(() => {
      requireItem(database, id);
      if (!packById(database, id)) {
        return { work: citedStudy(database, requireStudy(database, id), from, packs), files: [] };
      }
      const pack = readPack(database, id);
      return { work: citedPack(pack, from), files: pack.files };
    })
    .deferred();
}

/** Returns a pack as it is cited. */
export function citedPack(pack: Pack, { origin, publisher }: CitationContext): CitedWork {
  const { evidence, supersedes, replicates, study } = pack;
  const relations: CitedRelation[] = [...pack.related];
  const packAt = (id: string) => `${origin}/packs/${id}`;
  if (supersedes) relations.push({ relation: 'IsNewVersionOf', identifier: packAt(supersedes) });
  if (evidence.superseded_by) {
    relations.push({ relation: 'IsPreviousVersionOf', identifier: packAt(evidence.superseded_by) });
  }
  if (replicates) relations.push({ relation: 'References', identifier: packAt(replicates.pack) });
  for (const { pack: replication } of pack.replications) {
    relations.push({ relation: 'IsReferencedBy', identifier: packAt(replication) });
  }
  if (study) relations.push({ relation: 'IsPartOf', identifier: `${origin}/studies/${study}` });
  return {
    id: pack.id,
    kind: 'pack',
    title: oneLine(pack.title) || pack.id,
    authors: pack.authors.map(asCited),
    date: dayOf(evidence.received_at),
    publisher,
    url: packAt(pack.id),
    digest: pack.digest,
    version: supersedes || evidence.superseded_by ? evidence.version : undefined,
    abstract: oneLine(pack.summary),
    keywords: pack.keywords.map(oneLine).filter((keyword) => keyword !== ''),
    license: pack.license,
    bytes: evidence.bytes,
    files: evidence.files,
    mediaTypes: [...new Set(pack.files.map(({ media_type }) => media_type))],
    relations,
  };
}

function citedStudy(
  database: ReadDatabase,
  study: StudyRow,
  { origin, publisher }: CitationContext,
  packs: number,
): CitedWork {
  const authors = new Map<string, CitedAuthor>();
  const relations: CitedRelation[] = [];
  let bytes = 0;
  let files = 0;
  for (const pack of iterateCitedPacks(database, study.id, packs)) {
    bytes += pack.bytes;
    files += pack.files;
    if (relations.length < MAX_PARTS) {
      relations.push({ relation: 'HasPart', identifier: `${origin}/packs/${pack.id}` });
    }
    for (const author of (JSON.parse(pack.authors) as CitedAuthor[]).map(asCited)) {
      const key = author.orcid ?? author.name;
      if (!authors.has(key)) authors.set(key, author);
    }
  }
  return {
    id: study.id,
    kind: 'study',
    title: oneLine(study.title) || study.id,
    authors: [...authors.values()],
    date: dayOf(study.created_at),
    publisher,
    url: `${origin}/studies/${study.id}`,
    digest: null,
    version: undefined,
    abstract: oneLine(study.description || study.question),
    keywords: [],
    license: null,
    bytes,
    files,
    mediaTypes: [],
    relations,
  };
}

function asCited({ name, orcid, affiliation }: CitedAuthor): CitedAuthor {
  return { name: oneLine(name) || 'Anonymous', orcid, affiliation: oneLine(affiliation) };
}

function dayOf(instant: string): CitedWork['date'] {
  const date = new Date(instant);
  return { year: date.getUTCFullYear(), month: date.getUTCMonth() + 1, day: date.getUTCDate() };
}
