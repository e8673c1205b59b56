import {
  at,
  bytesOf,
  checksumOf,
  doiIn,
  type Fields,
  fields,
  firstText,
  list,
  orcidIn,
  plainText,
  textOf,
} from '../fields.ts';
import {
  type Answers,
  jsonOf,
  type ListedFile,
  type ReadRepository,
  type RepositoryRecord,
} from '../repository.ts';

/** The pages of a dataset, and its entry in the interface. */
const DATASET = /^(.*)\/(?:dataset\.xhtml|citation|api\/datasets\/:persistentId(?:\/.*)?)$/;

/**
 * Reads a dataset of a Dataverse.
 *
 * Sources: https://guides.dataverse.org/en/latest/api/native-api.html, https://guides.dataverse.org/en/latest/api/dataaccess.html
 */
export const readDataverse: ReadRepository = (landing, answers) => {
  const page = new URL(landing.finalUrl);
  const base = DATASET.exec(page.pathname)?.[1];
  const id = page.searchParams.get('persistentId');
  if (base === undefined || id === null || id === '') return undefined;
  const root = page.origin + base;
  const isApi = page.pathname.includes('/api/datasets/');
  const data = fields(at(isApi ? answers.json(landing.url) : entryOf(answers, root, id), 'data'));
  // A listing of versions gives the version itself.
  const version = fields(data.latestVersion ?? data);
  const citation = citationOf(version);
  const title = textOf(citation.get('title'));
  if (title === '') return undefined;
  const persistentId = firstText(version.datasetPersistentId, id);
  return {
    repository: 'Dataverse',
    title,
    doi: doiIn(persistentId),
    conceptDoi: null,
    url: `${root}/dataset.xhtml?persistentId=${encodeURIComponent(persistentId)}`,
    summary: list(citation.get('dsDescription'))
      .map((one) => plainText(at(one, 'dsDescriptionValue', 'value')))
      .join('\n\n'),
    authors: list(citation.get('author')).map(authorOf),
    license:
      firstText(at(version, 'license', 'uri'), at(version, 'license', 'name'), version.license) || null,
    keywords: [
      ...list(citation.get('keyword')).map((one) => textOf(at(one, 'keywordValue', 'value'))),
      ...list(citation.get('subject')).map(textOf),
    ],
    files: list(version.files).map((file) => fileOf(file, root)),
    warnings: termsOf(version),
  };
};

/** Returns the entry of a dataset. Installations answer with the slash at the end of the path, some only without it. */
function entryOf(answers: Answers, root: string, id: string): unknown {
  const path = `${root}/api/datasets/:persistentId`;
  const query = `?persistentId=${encodeURIComponent(id)}`;
  const found = answers.get(`${path}/${query}`);
  return found.status === 404 ? answers.json(path + query) : jsonOf(found);
}

/** Returns the values of the citation block by the names of their fields. */
function citationOf(version: Fields): Map<string, unknown> {
  const found = list(at(version, 'metadataBlocks', 'citation', 'fields')).map(fields);
  return new Map(found.map(({ typeName, value }) => [textOf(typeName), value]));
}

function authorOf(author: unknown): RepositoryRecord['authors'][number] {
  const value = (name: string) => textOf(at(author, name, 'value'));
  return {
    name: value('authorName'),
    // The identifier may be of another scheme; only an ORCID iD has its form and check digit.
    orcid: orcidIn(value('authorIdentifier')),
    affiliation: value('authorAffiliation'),
  };
}

function termsOf({ termsOfUse, license }: Fields): string[] {
  return textOf(termsOfUse) !== '' && !license
    ? ['The dataset has terms of use of its own in place of a licence.']
    : [];
}

function fileOf(listed: unknown, root: string): ListedFile {
  const { label, directoryLabel, restricted, dataFile } = fields(listed);
  const file = fields(dataFile);
  // A table that was converted is taken in the form in which it was uploaded, under its name.
  const original = firstText(file.originalFileName);
  const isConverted = file.tabularData === true || original !== '' || textOf(file.originalFileFormat) !== '';
  const name = isConverted ? original || firstText(label, file.filename) : firstText(label, file.filename);
  const folder = textOf(directoryLabel);
  const refusal = restricted === true || file.restricted === true ? 'restricted' : undefined;
  const url = `${root}/api/access/datafile/${encodeURIComponent(textOf(file.id))}`;
  // Installations did not always note the size of the original: then it is 0.
  const bytes = isConverted ? bytesOf(file.originalFileSize) || null : bytesOf(file.filesize);
  return {
    name: folder === '' ? name : `${folder}/${name}`,
    bytes,
    checksum:
      checksumOf(at(file, 'checksum', 'type'), at(file, 'checksum', 'value')) ?? checksumOf('md5', file.md5),
    urls: refusal === undefined ? [isConverted ? `${url}?format=original` : url] : [],
    mediaType: isConverted ? textOf(file.originalFileFormat) || null : textOf(file.contentType) || null,
    ...(refusal !== undefined && { refusal }),
    ...(isConverted && { isConverted }),
  };
}
