import { RELATION_TYPES } from '../../../shared/archive/vocabulary.ts';

/**
 * The rules of the DataCite Metadata Schema 4.6 for its JSON, as a JSON Schema. It is stricter than the JSON Schemas of
 * 4.5 and 4.6 that DataCite's clients validate with (inveniosoftware/datacite): it leaves out the properties that a
 * pack or a study never has, insists on more, and allows no more of the rest. What passes here passes there, except for
 * the relations `HasTranslation` and `IsTranslationOf`, which are in Metadata Schema 4.6 and not in those files.
 */
export const DATACITE_SCHEMA = {
  type: 'object',
  additionalProperties: false,
  required: ['schemaVersion', 'types', 'creators', 'titles', 'publisher', 'publicationYear', 'url', 'dates'],
  properties: {
    schemaVersion: { const: 'http://datacite.org/schema/kernel-4' },
    types: object(
      { resourceType: text(), resourceTypeGeneral: { enum: ['Collection', 'Dataset', 'Other'] } },
      'resourceType',
      'resourceTypeGeneral',
    ),
    url: uri(),
    alternateIdentifiers: list(
      object(
        { alternateIdentifier: text(), alternateIdentifierType: text() },
        'alternateIdentifier',
        'alternateIdentifierType',
      ),
    ),
    creators: { ...list(creator()), minItems: 1, uniqueItems: false },
    titles: { ...list(object({ title: text() }, 'title')), minItems: 1 },
    // Up to 4.4 this was a text.
    publisher: object({ name: text() }, 'name'),
    publicationYear: { type: 'string', pattern: '^[0-9]{4}$' },
    dates: list(
      object(
        { date: { type: 'string', format: 'date' }, dateType: { enum: ['Created', 'Issued', 'Collected'] } },
        'date',
        'dateType',
      ),
    ),
    subjects: list(object({ subject: text() }, 'subject')),
    descriptions: list(
      object(
        { description: text(), descriptionType: { enum: ['Abstract'] } },
        'description',
        'descriptionType',
      ),
    ),
    rightsList: list(
      object({
        rights: text(),
        rightsUri: uri(),
        rightsIdentifier: text(),
        rightsIdentifierScheme: text(),
        schemeUri: uri(),
      }),
    ),
    sizes: list(text()),
    formats: list(text()),
    version: text(),
    relatedIdentifiers: {
      ...list(
        object(
          {
            relatedIdentifier: text(),
            relatedIdentifierType: { enum: ['DOI', 'URL', 'URN'] },
            relationType: { enum: [...RELATION_TYPES] },
          },
          'relatedIdentifier',
          'relatedIdentifierType',
          'relationType',
        ),
      ),
      uniqueItems: false,
    },
  },
};

function creator() {
  return object(
    {
      name: text(),
      nameType: { enum: ['Organizational', 'Personal'] },
      givenName: text(),
      familyName: text(),
      nameIdentifiers: list(
        object(
          { nameIdentifier: uri(), nameIdentifierScheme: text(), schemeUri: uri() },
          'nameIdentifier',
          'nameIdentifierScheme',
        ),
      ),
      affiliation: list(object({ name: text() }, 'name')),
    },
    'name',
  );
}

function object(properties: Record<string, object>, ...required: string[]) {
  return { type: 'object', additionalProperties: false, properties, required };
}

function list(items: object) {
  return { type: 'array', items, uniqueItems: true };
}

function text() {
  return { type: 'string', minLength: 1 };
}

function uri() {
  return { type: 'string', format: 'uri' };
}
