import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { parse } from 'csv-parse/sync';
import type { License } from '../../shared/archive/vocabulary.ts';
import type { UploadFile } from './ownerApi.ts';

interface Resource {
  path: string;
  description: string;
  licenses: { name?: string; title?: string; path?: string }[];
  sources: { title: string; path: string }[];
}

/** A data set of the package vega-datasets, with its origin from the package's catalogue. */
export interface Dataset {
  license: License;
  /** Its origin and terms, for the summary of a record. */
  provenance: string;
  /** The URLs of the original. */
  origins: string[];
  file: UploadFile;
  /** The full provenance, as a file of the pack. */
  sourceNote: UploadFile;
  rows: Record<string, unknown>[];
}

/** The licence of a pack by the terms that the catalogue lists for its data. */
const ALLOWED: { listed: RegExp; license: License }[] = [
  { listed: /^CC0 1\.0|public domain|U\.S\. Government Dataset/i, license: 'CC0-1.0' },
  { listed: /^Creative Commons Attribution 4\.0/, license: 'CC-BY-4.0' },
];

const packageFolder = resolve(import.meta.dirname, '../../node_modules/vega-datasets');

/** @throws Error if the catalogue lists no licence that allows publishing the data in a pack */
export function readDataset(fileName: string): Dataset {
  const { resources, version } = JSON.parse(
    readFileSync(join(packageFolder, 'datapackage.json'), 'utf8'),
  ) as { resources: Resource[]; version: string };
  const resource = resources.find(({ path }) => path === fileName);
  const listed = resource?.licenses.map(({ title, name }) => title ?? name ?? '').join('; ') ?? '';
  const license = ALLOWED.find((allowed) => allowed.listed.test(listed))?.license;
  if (!resource || !license) {
    throw new Error(`${fileName} is listed as “${listed}”, which is no licence to publish it under.`);
  }
  const bytes = readFileSync(join(packageFolder, 'data', fileName));
  const origins = resource.sources.map(({ path }) => path);
  const titles = resource.sources.map(({ title }) => title).join('; ');
  return {
    license,
    provenance: `Data: ${titles}; listed as “${listed}” in the catalogue of vega-datasets ${version}, whose file ${fileName} is in this pack byte for byte.`,
    origins,
    file: { path: `data/${fileName}`, mediaType: mediaTypeOf(fileName), bytes: new Uint8Array(bytes) },
    sourceNote: textFile('SOURCE.md', sourceNote(resource, version, listed)),
    rows: rowsOf(fileName, bytes),
  };
}

export function textFile(path: string, text: string): UploadFile {
  return { path, mediaType: mediaTypeOf(path), bytes: new TextEncoder().encode(text) };
}

function sourceNote(
  { path, description, licenses, sources }: Resource,
  version: string,
  listed: string,
): string {
  return [
    `# ${path}`,
    '',
    description.trim(),
    '',
    `- Taken from the npm package vega-datasets ${version}, file data/${path}.`,
    `- Licence as listed in that package's datapackage.json: ${listed}`,
    ...licenses.flatMap((license) => (license.path ? [`- Terms: ${license.path}`] : [])),
    ...sources.map((source) => `- Source: ${source.title} <${source.path}>`),
    '',
  ].join('\n');
}

function mediaTypeOf(path: string): string {
  if (path.endsWith('.csv')) return 'text/csv';
  if (path.endsWith('.md')) return 'text/markdown';
  return 'application/json';
}

function rowsOf(fileName: string, bytes: Buffer): Record<string, unknown>[] {
  if (fileName.endsWith('.csv')) return parse(bytes, { columns: true, cast: true });
  const value = JSON.parse(bytes.toString('utf8')) as Record<string, unknown>[] | { features: Feature[] };
  return Array.isArray(value) ? value : value.features.map(({ properties }) => properties);
}

/** A point of a GeoJSON collection. */
interface Feature {
  properties: Record<string, unknown>;
}
