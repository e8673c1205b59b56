import type { CslName } from '../../shared/archive/citation.ts';
import type { Pack, PackFile, PackRecord } from '../../shared/archive/pack.ts';
import type { License } from '../../shared/archive/vocabulary.ts';
import { Problem } from '../../shared/problems.ts';
import { doiUrl } from '../../shared/values/doi.ts';
import { requireItem } from '../archive/comments.ts';
import { readPack } from '../archive/packs/readPack.ts';
import { requireStudy } from '../archive/studies.ts';
import { publishedDoi } from '../store/sqlite/archive/deposits.ts';
import { iterateCitedPacks, packById } from '../store/sqlite/archive/packs.ts';
import type { StudyRow } from '../store/sqlite/archive/studies.ts';
import type { ReadDatabase } from '../store/sqlite/engine/open.ts';
import { onSnapshot } from '../store/sqlite/engine/queries.ts';

export interface CitedAuthor {
  name: string;
  orcid: string | null;
  affiliation: string;
  /** Whether it is known to be no person, so that the name is left whole. */
  isOrganization?: boolean;
}

/** A relation of the work to another, with a DataCite relation type. */
export type CitedRelation = PackRecord['related'][number];

/** What a work is in the terms of each format. */
export const KINDS = {
  pack: { genre: 'Data set', csl: 'dataset', ris: 'DATA', datacite: 'Dataset', dated: 'Issued' },
  study: { genre: 'Study', csl: 'document', ris: 'GEN', datacite: 'Collection', dated: 'Created' },
  observation: {
    genre: 'Archived web resource',
    csl: 'webpage',
    ris: 'ELEC',
    datacite: 'Other',
    dated: 'Collected',
  },
} as const;

/** Where and when something was on the web. */
export interface Observed {
  /** The address that was retrieved. */
  address: string;
  /** The host of the address. */
  site: string;
  at: string;
  /** Who retrieved it, in words that follow the time; empty if it was this node. */
  by: string;
  /** Whether the version is a whole page as a browser drew it, or one of its parts. */
  precision: 'page' | 'part';
}

/** What citations use of a pack, a study or an observation. All texts are single lines. */
export interface CitedWork {
  /** The key of the work in a bibliography. */
  id: string;
  kind: keyof typeof KINDS;
  title: string;
  authors: CitedAuthor[];
  /** The day (UTC) on which the archive received it, or on which it was observed. */
  date: { year: number; month: number; day: number };
  /** The name of the node. */
  publisher: string;
  /** The page of this node that shows it. */
  url: string;
  /** The fingerprint of a pack, or the digest of the observed bytes. */
  digest: string | null;
  /** The DOI of a published deposit of a pack; undefined if it has none. */
  doi?: string | undefined;
  /** The position in a chain of packs that supersede each other; undefined if there is only one. */
  version: number | undefined;
  abstract: string;
  keywords: string[];
  license: License | null;
  bytes: number;
  files: number;
  /** Whether it is the manifest of a set, whose files can be downloaded as one. */
  isSet?: boolean;
  mediaTypes: string[];
  relations: CitedRelation[];
  /** Of an observation. */
  observed?: Observed;
}

/** A work as it is printed in a citation: without a URL if nobody else could open it. */
export type CitableWork = Omit<CitedWork, 'url'> & { url: string | undefined };

/** The identifier of a work in every archive that holds it; undefined for a study, and for an observation without bytes. */
export function urnOf({ digest }: Pick<CitedWork, 'digest'>): string | undefined {
  return digest === null ? undefined : `urn:sha256:${digest}`;
}

/** The URL of a work's DOI; undefined if it has none. */
export function doiUrlOf({ doi }: Pick<CitedWork, 'doi'>): string | undefined {
  return doi === undefined ? undefined : doiUrl(doi);
}

/**
 * Converts text to one line. In line-based formats a line break would start a new field, and control characters are not
 * valid in any format.
 */
export function oneLine(text: string): string {
  return text
    .replace(/[\p{Cc}\u2028\u2029]+/gu, ' ')
    .replace(/\s+/gu, ' ')
    .trim();
}

/** The day of the work, as in `2026-11-20`. */
export function dateText({ date: { year, month, day } }: Pick<CitedWork, 'date'>): string {
  return [year, month, day].map((part) => String(part).padStart(2, '0')).join('-');
}

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
  return onSnapshot(database, () => {
    requireItem(database, id);
    if (!packById(database, id)) {
      return { work: citedStudy(database, requireStudy(database, id), from, packs), files: [] };
    }
    const pack = readPack(database, id);
    const work = { ...citedPack(pack, from), doi: publishedDoi(database, id) };
    return { work, files: pack.files };
  });
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
    // A set is one work: its size is that of its files, not of their list.
    bytes: evidence.set?.bytes ?? evidence.bytes,
    files: evidence.set?.files ?? evidence.files,
    ...(evidence.set && { isSet: true }),
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

export function dayOf(instant: string): CitedWork['date'] {
  const date = new Date(instant);
  return { year: date.getUTCFullYear(), month: date.getUTCMonth() + 1, day: date.getUTCDate() };
}

const GENERATION = /^(?:jr|sr|ii|iii|iv)\.?$/i;

/** Matches what follows a comma in a name but is not a given name. */
const NO_GIVEN_NAME =
  /^(?:jr|sr|i{1,3}|iv|vi{0,3}|ph\.?\s?d|m\.?d|m\.?sc|b\.?sc|esq|inc|ltd|llc|llp|plc|corp|co|gmbh|ag|s\.?a|e\.?\s?v|b\.?v)\.?$/i;

/** Words that people's names do not contain. */
const ORGANIZATION_WORDS = new Set(
  `academy administration agency alliance archive archives assembly association authority board bureau center centre
  club coalition collaboration collective college commission committee community company consortium corporation
  corps council department directorate division factory federation forum foundation fund gmbh group hospital
  inc initiative institut institute institution international laboratories laboratory lab labs league libraries library llc
  ltd ministry museum nations network number observatory office organisation organization partnership plc program
  programme project research school sciences service services société society station statistics studio survey syndicate system systems
  team trust union universidad university universität université université verein and und et for of the für`
    .split(/\s+/)
    .filter((word) => word !== ''),
);

/** The ends of German words for organizations, such as `Forschungsgemeinschaft` and `Bundesamt`. */
const ORGANIZATION_END = /(?:gemeinschaft|gesellschaft|institut|verband|verein|zentrum|bundesamt)$/i;

/** Words in lower case that begin a family name, as in `van der Berg` and `ibn Sina`. */
const PARTICLES = new Set(
  `af al am an auf aus av ben bin bint d da dal dalla dalle das de degli dei del della delle den der des di do dos du e el
  ibn im la las le les lo los op 't ten ter the tot und van vom von y zu zum zur`
    .split(/\s+/)
    .filter((word) => word !== ''),
);
/** Particles that are also written with a capital letter before a family name, as in `Robert De Niro`. */
const CAPITAL_PARTICLE = /^(?:De|Del|Della|Den|Der|Di|Du|La|Le|Van|Vander|Von|St\.?)$/;
const TITLE = /^(?:dr|prof|professor|mr|mrs|ms|mx|sir|dame)\.?$/i;

const MOST_WORDS = 6;

/**
 * Splits a name into its parts. A record has each name as one text, `Family, Given` or `Given Family`. A name that is
 * not clearly a person's in one of these forms is left whole: organizations, single words, scripts without capital
 * letters, and Vietnamese names, which begin with the family name.
 */
export function nameParts({
  name,
  isOrganization = false,
}: Pick<CitedAuthor, 'name' | 'isOrganization'>): CslName {
  if (isOrganization) return { literal: name };
  const parts = name.split(',').map((part) => part.trim());
  const [first = '', second = '', third] = parts;
  if (parts.length === 1) return splitName(first) ?? { literal: name };
  if (parts.length === 2 && GENERATION.test(second)) {
    const split = splitName(first);
    return split ? { ...split, suffix: second } : { literal: name };
  }
  if (parts.length === 3 && first !== '' && third !== undefined) {
    // "Family, Given, Jr." and "Family, Jr., Given" are both in use.
    if (GENERATION.test(third) && isGiven(second)) return { family: first, given: second, suffix: third };
    if (GENERATION.test(second) && isGiven(third)) return { family: first, given: third, suffix: second };
  }
  if (parts.length === 2 && first !== '' && isGiven(second)) return { family: first, given: second };
  return { literal: name };
}

function isGiven(text: string): boolean {
  return text !== '' && !NO_GIVEN_NAME.test(text) && text.split(' ').length <= 4;
}

type SplitName = Extract<CslName, { family: string }>;

/** Splits `Given Family`; undefined if the text is not clearly that. */
function splitName(text: string): SplitName | undefined {
  const words = text.split(' ').filter((word) => word !== '');
  while (words.length > 2 && TITLE.test(words[0] ?? '')) words.shift();
  const generation = words.length > 2 && GENERATION.test(words.at(-1) ?? '') ? words.pop() : undefined;
  if (words.length < 2 || words.length > MOST_WORDS || isOrganizationName(words.join(' '))) return undefined;
  const start = familyStart(words);
  const given = words.slice(0, start);
  if (!isCapital(words.at(-1) ?? '') || !given.every((word) => isCapital(word))) return undefined;
  return {
    family: words.slice(start).join(' '),
    given: given.join(' '),
    ...(generation === undefined ? {} : { suffix: generation }),
  };
}

/** The index of the first word of the family name: the last word, and the particles that belong to it. */
function familyStart(words: readonly string[]): number {
  const last = words.length - 1;
  const particle = words.findIndex((word, at) => at > 0 && at < last && PARTICLES.has(word));
  // "José Ortega y Gasset": both names around the "y" are of the family.
  if (particle > 1 && /^[ey]$/.test(words[particle] ?? '')) return particle - 1;
  if (particle > 0) return particle;
  let start = last;
  while (start > 1 && CAPITAL_PARTICLE.test(words[start - 1] ?? '')) start -= 1;
  return start;
}

/** Letters that only Vietnamese has. */
const VIETNAMESE = /[\u01A0\u01A1\u01AF\u01B0\u1EA0-\u1EF9]/;

function isOrganizationName(text: string): boolean {
  if (!/^[\p{L}\p{M}.'’ʼ-]+(?: [\p{L}\p{M}.'’ʼ-]+)*$/u.test(text) || VIETNAMESE.test(text.normalize('NFC')))
    return true;
  return text
    .split(' ')
    .some((word) => ORGANIZATION_WORDS.has(word.toLowerCase()) || ORGANIZATION_END.test(word));
}

/** Returns whether a word begins with a capital letter, also after an article such as `d’` or `al-`. */
function isCapital(word: string): boolean {
  return /^(?:\p{Ll}{1,2}['’-])?\p{Lu}/u.test(word);
}

/** Returns `M. S.` for `Marie Salomea`, `J.-P.` for `Jean-Paul`. Scripts without capital letters have no initials. */
export function initials(given: string): string {
  return given
    .replaceAll('.', '. ')
    .replace(/\. -/g, '.-')
    .split(' ')
    .filter((word) => word !== '')
    .map((word) => (/^\p{Lu}/u.test(word) ? word.split(/[-‐‑]/).map(initial).join('-') : word))
    .join(' ');
}

function initial(part: string): string {
  const [letter = ''] = part;
  return /\p{L}/u.test(letter) ? `${letter.toUpperCase()}.` : part;
}
