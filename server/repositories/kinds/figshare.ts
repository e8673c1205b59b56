import {
  addressOf,
  at,
  bytesOf,
  checksumOf,
  doiIn,
  fields,
  firstText,
  list,
  orcidIn,
  plainText,
  textOf,
} from '../fields.ts';
import type { Answer, Answers, ListedFile, ReadRepository } from '../repository.ts';

/** An item's page, `/articles/<type>/<title>/<id>/<version>`, also on the pages of institutions. */
const PAGE = /^\/(?:articles|projects)\/.*?\/(\d{1,12})(?:\/(\d{1,4}))?\/?$/;
const ENTRY = /^(.*\/v2)\/articles\/(\d{1,12})(?:\/versions\/(\d{1,4}))?\/?$/;
const PUBLIC_API = 'https://api.figshare.com/v2';
/** The most that the interface gives in one answer. */
const PAGE_SIZE = 1_000;
const MAX_PAGES = 30;
const PAGES_AT_ONCE = 5;

/**
 * Reads a public item of figshare.
 *
 * Source: https://docs.figshare.com/#public_article
 */
export const readFigshare: ReadRepository = (landing, answers) => {
  for (const { api, id, version } of entriesOf(landing)) {
    const versioned = version === undefined ? '' : `/versions/${version}`;
    const entry = `${api}/articles/${id}${versioned}`;
    const article = fields(answers.json(landing.finalUrl === entry ? landing.url : entry));
    const title = textOf(article.title);
    if (title === '' || article.id === undefined) continue;
    const files = filesOf(answers, `${entry}/files`, list(article.files));
    return {
      repository: 'figshare',
      title,
      doi: doiIn(article.doi),
      conceptDoi: conceptOf(doiIn(article.doi)),
      url: addressOf(firstText(article.url_public_html, article.figshare_url)) ?? landing.finalUrl,
      summary: plainText(article.description),
      authors: list(article.authors).map((author) => ({
        name: textOf(at(author, 'full_name')),
        orcid: orcidIn(at(author, 'orcid_id')),
        affiliation: '',
      })),
      license: firstText(at(article, 'license', 'url'), at(article, 'license', 'name')) || null,
      keywords: list(article.keywords ?? article.tags).map(textOf),
      files,
      warnings: accessOf(article),
    };
  }
  return undefined;
};

/** Returns where the item may be found. The pages of institutions are on hosts of their own, and the interface is not. */
function entriesOf(landing: Answer): { api: string; id: string; version: string | undefined }[] {
  const url = new URL(landing.finalUrl);
  const [, base, number, numberedVersion] = ENTRY.exec(url.pathname) ?? [];
  if (base !== undefined && number !== undefined)
    return [{ api: url.origin + base, id: number, version: numberedVersion }];
  const [, id, version] = PAGE.exec(url.pathname) ?? [];
  if (id === undefined) return [];
  const own = { api: `${url.origin}/v2`, id, version };
  const shared = { api: PUBLIC_API, id, version };
  if (/(^|\.)figshare\.com$/.test(url.hostname)) return [shared];
  return /figshare/i.test(landing.text) || landing.text === '' ? [own, shared] : [own];
}

/** Returns the DOI of all versions: that of a version without its last part. */
function conceptOf(doi: string | null): string | null {
  return doi === null ? null : (/^(.+)\.v\d{1,4}$/i.exec(doi)?.[1] ?? null);
}

function accessOf({
  is_embargoed,
  embargo_date,
  is_confidential,
  is_metadata_record,
}: Record<string, unknown>): string[] {
  const until = textOf(embargo_date).slice(0, 40);
  if (is_embargoed === true) return [`The files are under embargo${until ? ` until ${until}` : ''}.`];
  if (is_confidential === true)
    return ['The files are confidential: the repository does not give them to the public.'];
  return is_metadata_record === true ? ['The repository has a description and no files.'] : [];
}

/** The item itself lists only its first files. How many pages there are is not said, so a few are asked together. */
function filesOf(answers: Answers, listing: string, inItem: unknown[]): ListedFile[] {
  const found = new Map<string, ListedFile>();
  for (let page = 1, count = 1; page <= MAX_PAGES; page += count, count = PAGES_AT_ONCE) {
    const urls = Array.from(
      { length: count },
      (_, index) => `${listing}?page=${page + index}&page_size=${PAGE_SIZE}`,
    );
    answers.all(urls);
    const pages = urls.map((url) => list(answers.needed(url)));
    const before = found.size;
    for (const item of pages.flat()) found.set(textOf(at(item, 'id')), fileOf(item));
    if ((pages.at(-1)?.length ?? 0) < PAGE_SIZE || found.size === before) break;
  }
  return found.size > 0 ? [...found.values()] : inItem.map(fileOf);
}

function fileOf(item: unknown): ListedFile {
  const file = fields(item);
  const url = addressOf(file.download_url);
  const refusal =
    file.is_link_only === true
      ? 'links to another place'
      : url === undefined
        ? 'without an address'
        : undefined;
  return {
    name: textOf(file.name),
    bytes: bytesOf(file.size),
    // What figshare computed is that of the bytes that it sends.
    checksum: checksumOf('md5', file.computed_md5) ?? checksumOf('md5', file.supplied_md5),
    urls: refusal === undefined && url !== undefined ? [url] : [],
    mediaType: textOf(file.mimetype) || null,
    ...(refusal !== undefined && { refusal }),
  };
}
