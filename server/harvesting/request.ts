import { z } from 'zod';
import { LICENSES } from '../../shared/archive/vocabulary.ts';
import { LICENSES_CITED } from '../citations/jsonFormats.ts';
import { type IndexedSet, packsWithSubject, packsWithValue } from '../store/sqlite/archive/harvest.ts';
import { allTreeNodes } from '../store/sqlite/archive/studies.ts';
import type { ReadDatabase } from '../store/sqlite/engine/open.ts';
import { FORMATS, type MetadataPrefix } from './formats.ts';

const VERBS = [
  'GetRecord',
  'Identify',
  'ListIdentifiers',
  'ListMetadataFormats',
  'ListRecords',
  'ListSets',
] as const;
type Verb = (typeof VERBS)[number];

/** The required and the optional arguments of a verb. A resumption token excludes all others. */
const ARGUMENTS: Record<Verb, { needed: readonly string[]; possible: readonly string[] }> = {
  GetRecord: { needed: ['identifier', 'metadataPrefix'], possible: [] },
  Identify: { needed: [], possible: [] },
  ListIdentifiers: { needed: ['metadataPrefix'], possible: ['from', 'until', 'set', 'resumptionToken'] },
  ListMetadataFormats: { needed: [], possible: ['identifier'] },
  ListRecords: { needed: ['metadataPrefix'], possible: ['from', 'until', 'set', 'resumptionToken'] },
  ListSets: { needed: [], possible: ['resumptionToken'] },
};

/** A request with a valid verb and valid names of arguments. The values are not checked yet. */
export interface HarvestRequest {
  verb: Verb;
  arguments: Readonly<Partial<Record<string, string>>>;
}

/** @throws HarvestError `badVerb`, `badArgument` */
export function parseRequest(search: URLSearchParams): HarvestRequest {
  const verb = VERBS.find((each) => each === search.get('verb'));
  if (verb === undefined || search.getAll('verb').length > 1) {
    throw new HarvestError('badVerb', `Send one of these verbs: ${VERBS.join(', ')}.`);
  }
  const { needed, possible } = ARGUMENTS[verb];
  const given: Record<string, string> = {};
  for (const [name, value] of search) {
    if (name === 'verb') continue;
    if (![...needed, ...possible].includes(name)) {
      throw new HarvestError('badArgument', `${verb} does not take the argument ${name}.`);
    }
    if (Object.hasOwn(given, name)) throw new HarvestError('badArgument', `${name} is given twice.`);
    given[name] = value;
  }
  const isResumed = given.resumptionToken !== undefined;
  if (isResumed && Object.keys(given).length > 1) {
    throw new HarvestError('badArgument', 'A resumptionToken must be the only argument besides the verb.');
  }
  const missing = isResumed ? undefined : needed.find((name) => given[name] === undefined);
  if (missing !== undefined) throw new HarvestError('badArgument', `${verb} needs the argument ${missing}.`);
  return { verb, arguments: given };
}

/** A requested list: its filters, and the position at which the response begins. */
export interface ListSelection {
  prefix: MetadataPrefix;
  /** Seconds in UTC, inclusive. `from` is not used once a position is known. */
  from: string | undefined;
  until: string | undefined;
  set: string | undefined;
  position: ListPosition | undefined;
}

/** The position at which a list continues: a change in the ledger, and the number of earlier records. */
interface ListPosition {
  entry: number;
  place: number;
  cursor: number;
}

/** @throws HarvestError `cannotDisseminateFormat`, `badArgument`, `badResumptionToken` */
export function parseSelection({ verb, arguments: given }: HarvestRequest): ListSelection {
  if (given.resumptionToken !== undefined) return readListToken(verb, given.resumptionToken);
  const { from, until, set } = given;
  if (from !== undefined && until !== undefined) {
    if (from.length !== until.length) {
      throw new HarvestError('badArgument', 'from and until are both days, or both seconds.');
    }
    if (from > until) throw new HarvestError('badArgument', 'from is later than until.');
  }
  if (set !== undefined && !SET_SPEC.test(set)) {
    throw new HarvestError('badArgument', 'The name of the set is malformed.');
  }
  return {
    prefix: requirePrefix(given.metadataPrefix ?? ''),
    from: from === undefined ? undefined : asSecond('from', from, 'T00:00:00Z'),
    until: until === undefined ? undefined : asSecond('until', until, 'T23:59:59Z'),
    set,
    position: undefined,
  };
}

/** As in the schema of the protocol. */
const SET_SPEC = /^[A-Za-z0-9\-_.!~*'()]+(?::[A-Za-z0-9\-_.!~*'()]+)*$/;

export function requirePrefix(prefix: string): MetadataPrefix {
  const known = FORMATS.find((format) => format.prefix === prefix);
  if (known) return known.prefix;
  const prefixes = FORMATS.map((format) => format.prefix).join(', ');
  throw new HarvestError('cannotDisseminateFormat', `Metadata is available as ${prefixes}.`);
}

/** Parses a second in UTC. A day means its first or last second. @throws HarvestError `badArgument` */
function asSecond(name: string, date: string, ofDay: string): string {
  const second = /^\d{4}-\d\d-\d\d$/.test(date) ? date + ofDay : date;
  if (!isSecond(second)) {
    throw new HarvestError(
      'badArgument',
      `${name} must have the form YYYY-MM-DD or YYYY-MM-DDThh:mm:ssZ, in UTC.`,
    );
  }
  return second;
}

/** JavaScript reads a day beyond the end of a month as a day of the next month. */
function isSecond(text: string): boolean {
  if (!/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/.test(text)) return false;
  const instant = Date.parse(text);
  return !Number.isNaN(instant) && new Date(instant).toISOString().startsWith(text.slice(0, -1));
}

const whole = z.int().min(0);
const listToken = z.tuple([
  z.enum(['ListIdentifiers', 'ListRecords']),
  z.enum(FORMATS.map(({ prefix }) => prefix)),
  z.string().refine(isSecond).nullable(),
  z.string().regex(SET_SPEC).nullable(),
  whole,
  whole,
  whole,
]);
const setsToken = z.tuple([z.literal('ListSets'), whole]);

/** A token contains everything needed to continue. The node stores nothing for a harvester, so tokens never expire. */
export function listTokenOf(verb: Verb, selection: ListSelection, { entry, place, cursor }: ListPosition) {
  const { prefix, until, set } = selection;
  return encode([verb, prefix, until ?? null, set ?? null, entry, place, cursor]);
}

export function setsTokenOf(cursor: number): string {
  return encode(['ListSets', cursor]);
}

/** Returns the number of earlier sets. @throws HarvestError `badResumptionToken` */
export function readSetsToken(token: string): number {
  const [, cursor] = decode(setsToken, token);
  return cursor;
}

function readListToken(verb: Verb, token: string): ListSelection {
  const [tokenVerb, prefix, until, set, entry, place, cursor] = decode(listToken, token);
  if (tokenVerb !== verb) throw badToken();
  const position = { entry, place, cursor };
  return { prefix, from: undefined, until: until ?? undefined, set: set ?? undefined, position };
}

function encode(parts: readonly unknown[]): string {
  return Buffer.from(JSON.stringify(parts)).toString('base64url');
}

function decode<Token>(schema: z.ZodType<Token>, token: string): Token {
  let parts: unknown;
  try {
    parts = JSON.parse(Buffer.from(token, 'base64url').toString());
  } catch (error) {
    if (error instanceof SyntaxError) throw badToken();
    throw error;
  }
  const read = schema.safeParse(parts);
  if (!read.success) throw badToken();
  return read.data;
}

function badToken(): HarvestError {
  return new HarvestError('badResumptionToken', 'This resumptionToken was not issued by this node.');
}

interface HarvestSet {
  spec: string;
  name: string;
}

/** Returns all sets: one for each licence, and the tree of subjects, each below its parent. */
export function allSets(database: ReadDatabase): HarvestSet[] {
  return [
    { spec: 'license', name: 'Packs by licence' },
    ...LICENSES.map((license) => ({ spec: `license:${license}`, name: LICENSES_CITED[license].rights })),
    { spec: 'subject', name: 'Packs by subject' },
    ...allTreeNodes(database).map(({ path, title }) => ({ spec: subjectSet(path), name: title })),
  ];
}

/** Returns the packs of a set; undefined if every pack belongs to it. */
export function indexedPacks(database: ReadDatabase, set: string): IndexedSet | undefined {
  const [kind, ...path] = set.split(':');
  const value = path.join('/');
  if (kind === 'license') return value === '' ? undefined : packsWithValue(database, 'license', value);
  if (kind !== 'subject') return { values: [], packs: 0 };
  return value === '' ? packsWithSubject(database) : packsWithValue(database, 'node', value);
}

/** Returns the most specific sets of a pack. It also belongs to their parents. */
export function packSets({ license, node }: { license: string; node: string | null }): string[] {
  return [`license:${license}`, ...(node === null ? [] : [subjectSet(node)])];
}

function subjectSet(path: string): string {
  return ['subject', ...path.split('/')].join(':');
}

/** The errors of OAI-PMH 2.0 (section 3.6) that can occur: every pack has metadata, and sets are supported. */
type HarvestErrorCode =
  | 'badArgument'
  | 'badResumptionToken'
  | 'badVerb'
  | 'cannotDisseminateFormat'
  | 'idDoesNotExist'
  | 'noRecordsMatch';

/** An invalid OAI-PMH request. It is answered with an OAI-PMH error and status 200. */
export class HarvestError extends Error {
  readonly code: HarvestErrorCode;

  constructor(code: HarvestErrorCode, message: string) {
    super(message);
    this.name = 'HarvestError';
    this.code = code;
  }
}
