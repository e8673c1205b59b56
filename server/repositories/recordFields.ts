import type { DraftRecord } from '../../shared/archive/draft.ts';
import { isRelatedIdentifier } from '../../shared/archive/pack.ts';
import { mayHoldToken } from '../../shared/collection/handedIn.ts';
import { doiOf } from '../../shared/values/doi.ts';
import type { NewRetrieval } from '../store/sqlite/collection/retrievals.ts';
import { licenseOf } from './fields.ts';
import type { RepositoryRecord } from './repository.ts';

/** What a record of a pack may hold (`shared/archive/pack.ts`), in characters and in entries. */
const MOST = {
  title: 300,
  summary: 20_000,
  authors: 100,
  name: 200,
  affiliation: 300,
  keywords: 50,
  keyword: 100,
};

/** What a description says, whatever it comes from. */
export interface Described {
  title: string;
  summary: string;
  authors: readonly { name: string; orcid: string | null; affiliation: string }[];
  keywords: readonly string[];
}

/** More than a pack may have, so that what is cut can still be said; little enough to be handled at once. */
const MOST_READ = { title: 2_000, summary: 100_000, people: 1_000, name: 1_000, words: 1_000, word: 500 };

/** Returns a description with texts and lists of bounded length. It runs where the description was read. */
export function bounded({ title, summary, authors, keywords }: Described) {
  return {
    title: title.slice(0, MOST_READ.title),
    summary: summary.slice(0, MOST_READ.summary),
    authors: authors.slice(0, MOST_READ.people).map(({ name, orcid, affiliation }) => ({
      name: name.slice(0, MOST_READ.name),
      orcid,
      affiliation: affiliation.slice(0, MOST_READ.name),
    })),
    keywords: keywords.slice(0, MOST_READ.words).map((word) => word.slice(0, MOST_READ.word)),
  };
}

/** The fields that a description fills. Empty ones are left out. */
type FilledFields = Pick<DraftRecord, 'title' | 'summary' | 'authors' | 'keywords'>;

/** Returns a description as a pack may have it, and says what was cut or left out. */
export function filledFields(described: Described): { fields: FilledFields; warnings: string[] } {
  const warnings: string[] = [];
  const shortened = (text: string, most: number, what: string) => {
    const all = Array.from(text.slice(0, 2 * most + 2));
    if (all.length > most) warnings.push(`${what} is longer than ${most} characters and was cut.`);
    return all.slice(0, most).join('').trim();
  };
  const title = shortened(oneLine(described.title), MOST.title, 'The title');
  const summary = shortened(clean(described.summary).trim(), MOST.summary, 'The summary');
  const authors = described.authors
    .map(({ name, orcid, affiliation }) => ({
      name: cut(oneLine(name), MOST.name),
      orcid,
      affiliation: cut(oneLine(affiliation), MOST.affiliation),
    }))
    .filter(({ name }) => name !== '');
  if (authors.length > MOST.authors)
    warnings.push(
      `A pack has at most ${MOST.authors} authors: ${authors.length - MOST.authors} were left out.`,
    );
  const keywords = [...new Set(described.keywords.map(oneLine))].filter((word) => word !== '');
  const short = keywords.filter((word) => Array.from(word).length <= MOST.keyword);
  const left = keywords.length - Math.min(short.length, MOST.keywords);
  if (left > 0)
    warnings.push(
      `A pack has at most ${MOST.keywords} keywords of ${MOST.keyword} characters: ${left} were left out.`,
    );
  return {
    fields: {
      ...(title !== '' && { title }),
      ...(summary !== '' && { summary }),
      ...(authors.length > 0 && { authors: authors.slice(0, MOST.authors) }),
      ...(keywords.length > 0 && { keywords: short.slice(0, MOST.keywords) }),
    },
    warnings,
  };
}

/** Returns the record of the draft into which a record is imported, and what a person must know of it. */
export function draftRecordOf(record: Omit<RepositoryRecord, 'files'>): {
  fields: DraftRecord;
  warnings: string[];
} {
  const { fields, warnings } = filledFields(record);
  const license = record.license === null ? null : licenseOf(record.license);
  if (record.license === null) warnings.push('The repository states no licence. Choose one only if you may.');
  else if (license === null)
    warnings.push(
      `The licence is “${cut(oneLine(record.license), 200)}”, which a pack cannot have. Choose another one only if you may.`,
    );
  const { doi, conceptDoi, url } = record;
  const related = [
    { relation: 'IsDerivedFrom', identifier: doi ?? publishedAddress(url) },
    ...(conceptDoi !== null && doiOf(conceptDoi) !== doiOf(doi ?? '')
      ? [{ relation: 'IsVersionOf', identifier: conceptDoi }]
      : []),
  ].filter(({ identifier }) => identifier.length <= 2048 && isRelatedIdentifier(identifier));
  return { fields: { ...fields, ...(license && { license }), related }, warnings };
}

function cut(text: string, most: number): string {
  return Array.from(text.slice(0, 2 * most))
    .slice(0, most)
    .join('')
    .trim();
}

function oneLine(text: string): string {
  return clean(text).replace(/\s+/g, ' ').trim();
}

/** Without characters that no text needs: control characters, and those that reorder or hide the text around them. */
function clean(text: string): string {
  return text
    .toWellFormed()
    .replace(/\r\n?/g, '\n')
    .replace(/[^\P{Cc}\n\t]|[\u202a-\u202e\u2066-\u2069]/gu, '');
}

/**
 * Parameters of signed addresses, with which object stores and repositories give access to a file for some time: Amazon S3 (both
 * versions) and those that are like it, CloudFront, Google Cloud Storage, Azure (`sig`), OpenStack Swift, Akamai (`hdnea`), and
 * tokens in general.
 */
const SIGNED =
  /^(x-[a-z]+-(signature|credential|security-token|algorithm)|(q-)?signature|sig|(aws|oss)?accesskeyid|googleaccessid|key-pair-id|temp_url_sig|hmac|hdn(ea|ts|tl)|authz|(access_?|auth_?|api_?|id_?|download_?|secure_?)?token|api_?key|jwt|authorization)$/i;
/** Dataverse takes the token of an account, which is a UUID, in the parameter `key`. Elsewhere that names a file. */
const ACCOUNT_KEY = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/** Returns an address as it may be published: without its query if that is a signature, and without a name and password. */
export function publishedAddress(address: string): string {
  return strip(address, (url) =>
    [...url.searchParams].some(
      ([name, value]) => SIGNED.test(name) || (name === 'key' && ACCOUNT_KEY.test(value)),
    ),
  );
}

/** The same for the target of a redirect, which only the repository wrote: its query also goes if it may hold a token. */
function publishedTarget(address: string): string {
  const published = publishedAddress(address);
  return strip(
    published,
    ({ origin, search, hash }) => search + hash !== '' && mayHoldToken(`${origin}/${search}${hash}`),
  );
}

function strip(address: string, isSecret: (url: URL) => boolean): string {
  const url = URL.parse(address);
  if (url === null) return address;
  const isSigned = isSecret(url);
  if (!isSigned && url.username === '' && url.password === '') return address;
  url.username = '';
  url.password = '';
  if (isSigned) url.search = url.hash = '';
  return url.href;
}

/** Headers of a response whose value is an address. */
const ADDRESS = /^(location|content-location)$/i;

/** Returns a retrieval as it is recorded: retrievals are public, and a signed address gives the file to everybody. */
export function withoutSignatures<
  Retrieval extends Pick<NewRetrieval, 'url' | 'final_url' | 'redirects' | 'headers'>,
>(retrieval: Retrieval): Retrieval {
  const { url, final_url, redirects, headers } = retrieval;
  return {
    ...retrieval,
    url: publishedAddress(url),
    final_url: final_url === url ? publishedAddress(url) : publishedTarget(final_url),
    redirects: redirects.map((hop, index) => ({
      ...hop,
      url: index === 0 ? publishedAddress(hop.url) : publishedTarget(hop.url),
      ...(hop.headers && { headers: publishedHeaders(hop.headers, hop.url) }),
    })),
    headers: publishedHeaders(headers, final_url),
  };
}

function publishedHeaders(headers: readonly [string, string][], base: string): [string, string][] {
  // An address that needs no change stays as it was written.
  const published = (written: string) => {
    const target = URL.parse(written, base)?.href ?? written;
    const stripped = publishedTarget(target);
    return stripped === target ? written : stripped;
  };
  return headers.map(([name, value]) => {
    if (ADDRESS.test(name)) return [name, published(value)];
    if (name.toLowerCase() !== 'link') return [name, value];
    return [name, value.replace(/<([^<>]*)>/g, (_, target: string) => `<${published(target)}>`)];
  });
}
