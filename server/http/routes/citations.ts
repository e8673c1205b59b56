import type { Request } from 'express';
import { CITATION_FORMATS, type CitationFormat } from '../../../shared/citation.ts';
import { Problem } from '../../../shared/problems.ts';
import { cite, citeAs } from '../../archive/citations/citations.ts';
import type { Store } from '../../store/store.ts';
import type { Handlers } from '../app.ts';
import { ok } from '../reply.ts';
import type { PublicAddress } from '../security/publicAddress.ts';

export function citationsHandlers(
  store: Store,
  nodeName: string,
  publicAddress: PublicAddress,
): Pick<Handlers, 'readCitation'> {
  return {
    readCitation: ({ params, query, request }) => {
      const id = params.id ?? '';
      const from = { origin: publicAddress.originOf(request), publisher: nodeName };
      const form = query.format === undefined ? acceptedForm(request) : formatOf(query.format);
      if (form === 'all') return { ...ok(cite(store, id, from)), headers: { Vary: 'Accept' } };
      const text = citeAs(store, id, from, form);
      const { ending, charset } = FILES[form];
      return {
        write: (response) => {
          response.set({
            'Cache-Control': 'no-store',
            'Content-Disposition': `inline; filename="${id}${ending}"`,
            Vary: 'Accept',
          });
          response.setHeader('Content-Type', CITATION_FORMATS[form] + charset);
          response.end(text);
        },
      };
    },
  };
}

const UTF_8 = '; charset=utf-8';
const FILES: Record<CitationFormat, { ending: string; charset: string }> = {
  bibtex: { ending: '.bib', charset: UTF_8 },
  ris: { ending: '.ris', charset: UTF_8 },
  'csl-json': { ending: '.csl.json', charset: '' },
  apa: { ending: '.txt', charset: UTF_8 },
  datacite: { ending: '.datacite.json', charset: '' },
};

const FORMATS = Object.keys(CITATION_FORMATS) as CitationFormat[];

function formatOf(format: string): CitationFormat {
  const known = FORMATS.find((each) => each === format);
  if (known) return known;
  throw new Problem('invalid_format', `Set format to ${FORMATS.join(', ')}, or omit it to get all formats.`);
}

/** The media types in order of preference. */
const OFFERED: readonly (readonly [string, CitationFormat | 'all'])[] = [
  ['application/json', 'all'],
  ...FORMATS.map((format) => [CITATION_FORMATS[format], format] as const),
  // The form that content negotiation of DOIs uses to select a style.
  ['text/x-bibliography;style=apa', 'apa'],
  ['text/x-bibliography;style=apa;locale=en-US', 'apa'],
];

function acceptedForm(request: Request): CitationFormat | 'all' {
  const accepted = request.accepts(OFFERED.map(([mediaType]) => mediaType));
  const offer = OFFERED.find(([mediaType]) => mediaType === accepted);
  if (offer) return offer[1];
  throw new Problem(
    'not_acceptable',
    `The available formats are application/json, ${Object.values(CITATION_FORMATS).join(', ')}.`,
  );
}
