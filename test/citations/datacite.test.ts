import { afterEach, describe, expect, test } from 'vitest';
import type { Study } from '../../shared/archive/study.ts';
import { RELATION_TYPES } from '../../shared/archive/vocabulary.ts';
import { uploadNewPack } from '../support/archive/packs.ts';
import { closeTestNodes, openTestNode } from '../support/node.ts';
import { citedAs, HOSTILE_TITLES, validDatacite } from './citationSupport.ts';

afterEach(closeTestNodes);

const PUBLIC = 'https://archive.example';

describe('the DataCite format of a citation', () => {
  test('DataCite contains rights, sizes, versions and every related work with its type', async () => {
    const node = await openTestNode({ publicUrl: PUBLIC });
    const first = await uploadNewPack(node);
    const digest = 'a'.repeat(64);
    const pack = await uploadNewPack(
      node,
      {
        supersedes: first.id,
        replicates: { pack: first.id, verdict: 'partial' },
        authors: [
          { name: 'Carberry, Josiah', orcid: '0000-0002-1825-0097', affiliation: 'Brown University' },
        ],
        license: 'CC-BY-4.0',
        keywords: ['sea'],
        related: [
          { relation: 'IsSupplementTo', identifier: 'https://doi.org/10.5555/12345678' },
          { relation: 'Cites', identifier: 'https://example.org/a' },
          { relation: 'IsDerivedFrom', identifier: `sha256:${digest}` },
        ],
      },
      { 'a.txt': 'four' },
    );
    const record = JSON.parse(await citedAs(node, pack.id, 'datacite'));
    const packAt = (id: string) => `${PUBLIC}/packs/${id}`;
    expect(record).toMatchObject({
      schemaVersion: 'http://datacite.org/schema/kernel-4',
      types: { resourceTypeGeneral: 'Dataset' },
      url: packAt(pack.id),
      alternateIdentifiers: [
        { alternateIdentifier: packAt(pack.id), alternateIdentifierType: 'URL' },
        { alternateIdentifier: pack.id },
        { alternateIdentifier: pack.digest },
      ],
      titles: [{ title: pack.title }],
      publicationYear: pack.evidence.received_at.slice(0, 4),
      sizes: ['4 bytes', '1 files'],
      formats: [pack.files[0]?.media_type],
      version: '2',
      subjects: [{ subject: 'sea' }],
      rightsList: [{ rightsIdentifier: 'CC-BY-4.0', rightsIdentifierScheme: 'SPDX' }],
      creators: [
        {
          name: 'Carberry, Josiah',
          nameType: 'Personal',
          familyName: 'Carberry',
          givenName: 'Josiah',
          nameIdentifiers: [{ nameIdentifier: 'https://orcid.org/0000-0002-1825-0097' }],
          affiliation: [{ name: 'Brown University' }],
        },
      ],
    });
    const related = record.relatedIdentifiers as Record<string, string>[];
    expect(
      related.map((each) => [each.relationType, each.relatedIdentifierType, each.relatedIdentifier]),
    ).toEqual([
      ['IsSupplementTo', 'DOI', '10.5555/12345678'],
      ['Cites', 'URL', 'https://example.org/a'],
      ['IsDerivedFrom', 'URN', `urn:sha256:${digest}`],
      ['IsNewVersionOf', 'URL', packAt(first.id)],
      ['References', 'URL', packAt(first.id)],
    ]);
    const ofFirst = JSON.parse(await citedAs(node, first.id, 'datacite'));
    expect(ofFirst.version).toBe('1');
    expect(ofFirst.relatedIdentifiers).toContainEqual({
      relationType: 'IsPreviousVersionOf',
      relatedIdentifierType: 'URL',
      relatedIdentifier: packAt(pack.id),
    });
  });

  test.each([PUBLIC, undefined])(
    'DataCite JSON keeps the rules of schema 4.5 and later, whatever a record or a study holds (%s)',
    async (publicUrl) => {
      const node = await openTestNode({ publicUrl });
      const study = (await (await node.sendJson('POST', '/api/studies', { title: 'Tides' })).json()) as Study;
      await validDatacite(node, study.id);
      for (const title of HOSTILE_TITLES) {
        const keywords = [title.slice(0, 100), 'tide', 'tide', ' tide\n', '\u0007'];
        const { id } = await uploadNewPack(node, { title, summary: title, keywords, study: study.id });
        await validDatacite(node, id);
      }
      const first = await uploadNewPack(node, { title: 'First' });
      const everything = await uploadNewPack(
        node,
        {
          title: 'Everything',
          supersedes: first.id,
          replicates: { pack: first.id, verdict: 'failed' },
          license: 'CC-BY-4.0',
          study: study.id,
          authors: [
            { name: 'Carberry, Josiah', orcid: '0000-0002-1825-0097', affiliation: 'Brown University' },
            { name: 'Carberry, Josiah', orcid: '0000-0002-1825-0097', affiliation: 'Brown University' },
          ],
          related: [
            ...RELATION_TYPES.map((relation) => ({ relation, identifier: 'doi:10.5555/12345678' })),
            { relation: 'Cites', identifier: 'https://example.org/a b?c=d#e' },
            { relation: 'Cites', identifier: 'a'.repeat(64) },
          ],
        },
        { 'a.txt': 'four', 'b.txt': 'five' },
      );
      for (const id of [first.id, everything.id, study.id]) await validDatacite(node, id);
    },
  );
});
