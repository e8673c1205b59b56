import { type CitableWork, readCitedPack } from '../../citations/citedWork.ts';
import { dataciteRecord } from '../../citations/jsonFormats.ts';
import { escapeHtml } from '../../html.ts';
import type { ReadDatabase } from '../../store/sqlite/engine/open.ts';

/** The metadata of a deposit, before it is put into the fields of a kind of repository. */
export interface CitedDeposit {
  work: CitableWork;
  datacite: ReturnType<typeof dataciteRecord>;
  /** The URN of the fingerprint. A deposit is found again by it. */
  urn: string;
  /** The summary and what the deposit is, as paragraphs of HTML. */
  description: string;
}

/** Works are read with the address of the node, which is only printed if it is public. */
const NOWHERE = 'strongroom:';

/**
 * Reads what is said of a pack.
 *
 * @param origin the public address of the node; undefined if it has none, and then the metadata has no address
 * @throws Problem `not_found`
 */
export function citedDeposit(
  database: ReadDatabase,
  pack: string,
  { origin, node }: { origin: string | undefined; node: string },
): CitedDeposit {
  const { work: cited } = readCitedPack(database, pack, { origin: origin ?? NOWHERE, publisher: node });
  const relations = cited.relations.filter(({ identifier }) => !identifier.startsWith(`${NOWHERE}/`));
  const work: CitableWork = { ...cited, relations, url: origin === undefined ? undefined : cited.url };
  return {
    work,
    datacite: dataciteRecord(work),
    urn: `urn:sha256:${cited.digest ?? ''}`,
    description: descriptionOf(work),
  };
}

function descriptionOf({ id, abstract, digest, url }: CitableWork): string {
  const where = url === undefined ? '' : ` It was first published at ${url}.`;
  const about = `This is a copy of the data pack ${id}.${where} The file pack.json is its record; its SHA-256 is the fingerprint of the pack, ${digest ?? ''}, and it names the SHA-256 of every other file.`;
  return [abstract, about]
    .filter((text) => text !== '')
    .map((text) => `<p>${escapeHtml(text)}</p>`)
    .join('\n');
}
