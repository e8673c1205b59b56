import {
  addressOf,
  at,
  bytesOf,
  checksumOf,
  doiIn,
  type Fields,
  fields,
  firstText,
  lastSegment,
  list,
  orcidIn,
  plainText,
  textOf,
} from '../fields.ts';
import type { ListedFile, RepositoryRecord } from '../repository.ts';

/** What JSON-LD says of a record. */
export type Described = Pick<
  RepositoryRecord,
  'title' | 'doi' | 'summary' | 'authors' | 'license' | 'keywords' | 'files'
>;

/** The types that describe a record, the best first. */
const TYPES = [
  'Dataset',
  'SoftwareSourceCode',
  'SoftwareApplication',
  'ScholarlyArticle',
  'Article',
  'CreativeWork',
];
const MAX_NODES = 20_000;

/**
 * Reads the schema.org description of a record in documents of JSON-LD. The names of schema.org are read as they are written
 * everywhere; a document that renames them in its context is not.
 *
 * Sources: https://schema.org/Dataset, https://developers.google.com/search/docs/appearance/structured-data/dataset
 */
export function readSchemaOrg(documents: readonly unknown[], base: string): Described | undefined {
  const nodes = documents.flatMap(nodesOf).slice(0, MAX_NODES);
  const byId = new Map(nodes.map((node) => [textOf(node['@id']), node]));
  const resolved = (value: unknown): Fields => {
    const node = fields(value);
    return Object.keys(node).length === 1 ? (byId.get(textOf(node['@id'])) ?? node) : node;
  };
  for (const type of TYPES) {
    const found = nodes.find((node) => isOfType(node, type) && textOf(nameOf(node)) !== '');
    if (found) return describe(found, base, resolved);
  }
  return undefined;
}

function nodesOf(document: unknown): Fields[] {
  return list(document).flatMap((one) => {
    const node = fields(one);
    const graph = list(node['@graph']).map(fields);
    // A page may say that it is about the dataset.
    const main = list(node.mainEntity ?? node.mainEntityOfPage).map(fields);
    return [node, ...graph, ...main];
  });
}

function isOfType(node: Fields, type: string): boolean {
  return list(node['@type']).some((one) => textOf(one).replace(/^.*[/#:]/, '') === type);
}

function nameOf(node: Fields): unknown {
  return list(node.name).map(valueOf).find(Boolean) ?? node.headline;
}

/** Texts in a language are `{"@value": "…"}`. */
function valueOf(value: unknown): string {
  return typeof value === 'object' ? textOf(at(value, '@value')) : textOf(value);
}

function describe(node: Fields, base: string, resolved: (value: unknown) => Fields): Described {
  return {
    title: plainText(nameOf(node)),
    doi: doiOfNode(node),
    summary: list(node.description ?? node.abstract)
      .map((one) => plainText(valueOf(one)))
      .join('\n\n'),
    authors: list(node.creator ?? node.author).map((one) => authorOf(one, resolved)),
    license: licenseIn(node.license),
    keywords: list(node.keywords).flatMap((one) =>
      typeof one === 'string'
        ? one.split(/[,;]/).map((word) => word.trim())
        : [firstText(at(one, 'name'), at(one, '@value'))],
    ),
    files: [...list(node.distribution), ...list(node.encoding), ...list(node.hasPart)]
      .map(resolved)
      .flatMap((one) => fileOf(one, base)),
  };
}

function doiOfNode(node: Fields): string | null {
  const stated = [...list(node.identifier), node['@id'], node.sameAs, node.url].flatMap(list);
  for (const one of stated) {
    const doi = doiIn(
      typeof one === 'object' ? firstText(at(one, 'value'), at(one, '@id'), at(one, 'url')) : one,
    );
    if (doi !== null) return doi;
  }
  return null;
}

function authorOf(given: unknown, resolved: (value: unknown) => Fields): RepositoryRecord['authors'][number] {
  if (typeof given === 'string') return { name: textOf(given), orcid: null, affiliation: '' };
  const outer = resolved(given);
  // A Role wraps the person.
  const person = isOfType(outer, 'Role') ? resolved(outer.creator ?? outer.author) : outer;
  const ids = [person['@id'], person.identifier, person.sameAs, person.url].flatMap(list);
  const orcids = ids.map((id) =>
    orcidIn(typeof id === 'object' ? firstText(at(id, 'value'), at(id, '@id'), at(id, 'url')) : id),
  );
  const affiliations = list(person.affiliation).map((one) =>
    typeof one === 'string' ? one : textOf(resolved(one).name),
  );
  return {
    name: firstText(person.name, [person.givenName, person.familyName].map(textOf).filter(Boolean).join(' ')),
    orcid: orcids.find((orcid) => orcid !== null) ?? null,
    affiliation: affiliations.filter(Boolean).join('; '),
  };
}

function licenseIn(stated: unknown): string | null {
  const names = list(stated).map((one) =>
    typeof one === 'object' ? firstText(at(one, 'url'), at(one, '@id'), at(one, 'name')) : textOf(one),
  );
  return firstText(...names) || null;
}

/** Returns the file of a download. What has no address, such as a part that is a dataset of its own, is none. */
function fileOf(node: Fields, base: string): ListedFile[] {
  const url = addressOf(node.contentUrl, base);
  if (url === undefined) return [];
  const checksum =
    checksumOf('sha256', node.sha256) ??
    checksumOf('sha512', node.sha512) ??
    checksumOf('md5', node.md5) ??
    // RO-Crate and others: {"@type": "Checksum", "algorithm": "md5", "value": "…"}
    checksumOf(at(node.checksum, 'algorithm'), at(node.checksum, 'value'));
  return [
    {
      name: firstText(nameWithEnding(textOf(node.name), url), lastSegment(url)),
      // Only a bare number is a size in bytes: “1.2 MB” is rounded.
      bytes: bytesOf(
        typeof node.contentSize === 'string'
          ? node.contentSize.replace(/\s*B(ytes)?$/i, '')
          : node.contentSize,
      ),
      checksum,
      urls: [url],
      mediaType: textOf(list(node.encodingFormat ?? node.fileFormat)[0]) || null,
    },
  ];
}

/** A name may be a title, such as “Measurements”. Then the ending of the address is kept. */
function nameWithEnding(name: string, url: string): string {
  if (name === '' || /\.[A-Za-z0-9]{1,8}$/.test(name)) return name;
  const last = lastSegment(url);
  return /\.[A-Za-z0-9]{1,8}$/.test(last) ? last : name;
}
