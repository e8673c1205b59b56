import { type CitationFormat, MAX_CITATION_ENTRIES } from '../../../shared/archive/recordImport.ts';
import { bounded } from '../recordFields.ts';
import { InvalidCitationsError, type ReadCitations } from './citation.ts';
import { readBibtex } from './readBibtex.ts';
import { readCslJson } from './readCslJson.ts';
import { readRis } from './readRis.ts';
import { readZoteroRdf } from './readZoteroRdf.ts';

export type CitationsOutcome = ReadCitations | { refused: string };

/** Reads a file of citations, in the thread that calls it. */
export function readCitations({
  format,
  bytes,
}: {
  format: CitationFormat;
  bytes: Uint8Array;
}): CitationsOutcome {
  try {
    const { citations: found, warnings } = readFormat(format, decode(bytes));
    const citations = found.map((citation) => ({ ...citation, ...bounded(citation) }));
    if (citations.length === 0) return { refused: warnings[0] ?? 'The file has no entries.' };
    const left = citations.length - MAX_CITATION_ENTRIES;
    if (left <= 0) return { citations, warnings };
    return {
      citations: citations.slice(0, MAX_CITATION_ENTRIES),
      warnings: [
        ...warnings,
        `The file has more than ${MAX_CITATION_ENTRIES} entries: ${left} were left out.`,
      ],
    };
  } catch (error) {
    if (error instanceof InvalidCitationsError)
      return { refused: `The file cannot be read. ${error.message}` };
    throw error;
  }
}

function readFormat(format: CitationFormat, text: string): ReadCitations {
  switch (format) {
    case 'ris':
      return { citations: readRis(text), warnings: [] };
    case 'bibtex':
      return readBibtex(text);
    case 'csl':
      return { citations: readCslJson(text), warnings: [] };
    case 'zotero':
      return { citations: readZoteroRdf(text), warnings: [] };
  }
}

/** Old programs write Windows-1252, which is hardly ever valid UTF-8. */
function decode(bytes: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    return new TextDecoder('windows-1252').decode(bytes);
  }
}
