import { createRequire } from 'node:module';

/** An item of CSL-JSON. */
export interface CitationItem {
  title: string;
  type: string;
  author?: { literal?: string; family?: string; given?: string }[];
  URL?: string;
  publisher?: string;
  keyword?: string;
  issued?: { 'date-parts': number[][] };
  accessed?: { 'date-parts': number[][] };
  archive_location?: string;
  note?: string;
}

interface CiteClass {
  new (
    data: unknown,
    options: object,
  ): { data: CitationItem[]; format(format: string, options: object): string };
}

/** Reads and formats our citations with Citation.js and its CSL engine. */
export interface CitationReaders {
  read(format: 'bibtex' | 'biblatex' | 'ris', text: string): CitationItem[];
  apa(item: object): string;
}

export function loadCitationReaders(): CitationReaders {
  const require = createRequire(import.meta.url);
  const { Cite } = require('@citation-js/core') as { Cite: CiteClass };
  for (const plugin of ['bibtex', 'csl', 'ris']) require(`@citation-js/plugin-${plugin}`);
  const types = { bibtex: '@bibtex/text', biblatex: '@biblatex/text', ris: '@ris/file' };
  return {
    read: (format, text) => new Cite(text, { generateGraph: false, forceType: types[format] }).data,
    apa: (item) =>
      new Cite([item], { generateGraph: false })
        .format('bibliography', { format: 'text', template: 'apa', lang: 'en-US' })
        .trim(),
  };
}
