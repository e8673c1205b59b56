import { hash } from 'node:crypto';
import { type PackRecord, uriOfIdentifier } from '../../../../shared/archive/pack.ts';
import type { License } from '../../../../shared/archive/vocabulary.ts';
import { canonicalText } from '../../../../shared/values/canonicalJson.ts';
import { packIdOf } from '../checkRecord.ts';
import {
  CRATE_FILE,
  DECLARATION,
  DECLARATION_FILE,
  INFO_FILE,
  MANIFEST_FILE,
  manifestLine,
  PAYLOAD_FOLDER,
  packInfoText,
  RECORD_FILE,
  TAG_MANIFEST_FILE,
  tagManifestText,
} from './tagFiles.ts';

/** A tag file of a bag, which is a file that is not payload. */
interface TagFile {
  name: string;
  bytes: Buffer;
}

/** The bag of a record: the name of its folder, and all tag files in the order in which they are written. */
export interface Bag {
  id: string;
  /** The record's fingerprint, which is also the SHA-256 of `pack.json`. */
  digest: string;
  tagFiles: TagFile[];
}

/** The names of all tag files that are written. */
export const BAG_FILES: ReadonlySet<string> = new Set([
  DECLARATION_FILE,
  INFO_FILE,
  MANIFEST_FILE,
  RECORD_FILE,
  CRATE_FILE,
  TAG_MANIFEST_FILE,
]);

/**
 * Returns the BagIt 1.0 bag (RFC 8493) of a record. It depends only on the record and contains no time, machine name or
 * program version, so every archive with this record writes the same bytes.
 */
export function bagOf(record: PackRecord): Bag {
  const recordText = canonicalText(record);
  const digest = sha256(recordText);
  const id = packIdOf(digest);
  const bytes = record.files.reduce((sum, file) => sum + file.bytes, 0);
  const manifest = record.files
    .map(({ path, sha256 }) => manifestLine(sha256, PAYLOAD_FOLDER + path))
    .join('');
  const listed = Object.entries({
    [DECLARATION_FILE]: DECLARATION,
    [INFO_FILE]: packInfoText({ id, title: record.title, digest, bytes, files: record.files.length }),
    [MANIFEST_FILE]: manifest,
    [RECORD_FILE]: recordText,
    [CRATE_FILE]: roCrateText(record, recordText, id),
  });
  const tagManifest = tagManifestText(listed.map(([name, text]) => [name, sha256(text)]));
  const texts = [...listed, [TAG_MANIFEST_FILE, tagManifest] as const];
  return { id, digest, tagFiles: texts.map(([name, text]) => ({ name, bytes: Buffer.from(text) })) };
}

function sha256(text: string): string {
  return hash('sha256', text, 'hex');
}

type Entity = { '@id': string; '@type': string } & Record<string, unknown>;
type Reference = { '@id': string };

const LICENSE_ENTITIES: Record<License, Entity> = {
  'CC-BY-4.0': {
    '@id': 'https://creativecommons.org/licenses/by/4.0/',
    '@type': 'CreativeWork',
    name: 'Creative Commons Attribution 4.0 International',
    description: 'May be shared and adapted, with attribution.',
    identifier: 'CC-BY-4.0',
  },
  'CC0-1.0': {
    '@id': 'https://creativecommons.org/publicdomain/zero/1.0/',
    '@type': 'CreativeWork',
    name: 'Creative Commons Zero 1.0 Universal',
    description: 'Given to the public domain as far as the law allows.',
    identifier: 'CC0-1.0',
  },
};

/**
 * RO-Crate requires a publication date. A record has none, because each archive has its own and the same record must give
 * the same bytes everywhere. So the date of the accepted terms is used, which is the only date in a record.
 */
const ABOUT_THE_DATE: Entity = {
  '@id': '#date-published',
  '@type': 'Comment',
  name: 'About datePublished',
  text:
    'datePublished is the date of the terms that the uploader accepted: the pack was published on it or later. ' +
    'When an archive received the pack is in the ledger of that archive.',
};

/**
 * Returns the text of `ro-crate-metadata.json` (RO-Crate 1.2) of a pack: the record in the schema.org vocabulary. It
 * depends only on the record.
 */
function roCrateText(record: PackRecord, recordText: string, id: string): string {
  const graph = new EntityGraph();
  graph.add({
    '@id': 'ro-crate-metadata.json',
    '@type': 'CreativeWork',
    about: { '@id': './' },
    conformsTo: { '@id': 'https://w3id.org/ro/crate/1.2' },
  });
  const root: Entity = graph.addEntity({
    '@id': './',
    '@type': 'Dataset',
    name: record.title,
    description: record.summary || record.title,
    datePublished: record.terms_version,
    identifier: id,
  });
  root.license = graph.add(LICENSE_ENTITIES[record.license]);
  root.author = addAuthors(graph, record);
  if (record.keywords.length > 0) root.keywords = record.keywords;
  Object.assign(root, addRelations(graph, record));
  root.comment = graph.add(ABOUT_THE_DATE);
  root.hasPart = addFiles(graph, record, Buffer.byteLength(recordText));
  const document = { '@context': 'https://w3id.org/ro/crate/1.2/context', '@graph': graph.entities };
  return `${JSON.stringify(document, null, 2)}\n`;
}

/** The entities of a crate, with unique ids. */
class EntityGraph {
  readonly #entities = new Map<string, Entity>();

  get entities(): Entity[] {
    return [...this.#entities.values()];
  }

  addEntity(entity: Entity): Entity {
    const known = this.#entities.get(entity['@id']);
    if (known) return known;
    this.#entities.set(entity['@id'], entity);
    return entity;
  }

  add(entity: Entity): Reference {
    return { '@id': this.addEntity(entity)['@id'] };
  }
}

function addAuthors(graph: EntityGraph, { authors }: PackRecord): Reference[] {
  const organizations = new Map<string, Reference>();
  const references = authors.map(({ name, orcid, affiliation }, index) => {
    const person: Entity = {
      '@id': orcid === null ? `#author-${index + 1}` : `https://orcid.org/${orcid}`,
      '@type': 'Person',
      name,
    };
    if (affiliation !== '') {
      const id = `#organization-${organizations.size + 1}`;
      const organization =
        organizations.get(affiliation) ??
        graph.add({ '@id': id, '@type': 'Organization', name: affiliation });
      organizations.set(affiliation, organization);
      person.affiliation = organization;
    }
    return graph.add(person);
  });
  return unique(references);
}

/** Adds earlier packs, related works and results, and returns the properties of the root that refer to them. */
function addRelations(graph: EntityGraph, record: PackRecord): Record<string, Reference[]> {
  const earlier = [record.replicates?.pack, record.supersedes].filter((pack) => typeof pack === 'string');
  // A Dataset would be a data entity, which is part of the crate; readers refuse one that `hasPart` does not reach.
  const isBasedOn = earlier.map((pack) =>
    graph.add({ '@id': `urn:strongroom:pack:${pack}`, '@type': 'CreativeWork', name: pack }),
  );
  const mentions = record.related.map(({ relation, identifier }) =>
    graph.add({
      '@id': uriOfIdentifier(identifier),
      '@type': 'CreativeWork',
      name: identifier,
      description: `${relation} (DataCite relation type, from this pack's side)`,
    }),
  );
  const variableMeasured = Object.entries(record.results).map(([name, value], index) =>
    graph.add({
      '@id': `#result-${index + 1}`,
      '@type': 'PropertyValue',
      name,
      ...(value === null ? {} : { value }),
    }),
  );
  const lists = { isBasedOn: unique(isBasedOn), mentions: unique(mentions), variableMeasured };
  return Object.fromEntries(Object.entries(lists).filter(([, list]) => list.length > 0));
}

function addFiles(graph: EntityGraph, { files }: PackRecord, recordBytes: number): Reference[] {
  const record = graph.add({
    '@id': 'pack.json',
    '@type': 'File',
    name: 'The record of this pack, as canonical JSON',
    contentSize: String(recordBytes),
    encodingFormat: 'application/json',
  });
  const parts = files.map(({ path, sha256, bytes, media_type }) =>
    graph.add({
      '@id': `data/${asIri(path)}`,
      '@type': 'File',
      name: path,
      contentSize: String(bytes),
      encodingFormat: media_type,
      sha256,
    }),
  );
  return [record, ...parts];
}

/** Percent-encodes only characters that are invalid in an IRI, because RO-Crate prefers unencoded international characters. */
function asIri(path: string): string {
  return path.replace(/[\s#[\]^`{}]/g, encodeURIComponent);
}

function unique(references: readonly Reference[]): Reference[] {
  return [...new Map(references.map((reference) => [reference['@id'], reference])).values()];
}
