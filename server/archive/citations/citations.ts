import type { Citation, CitationFormat } from '../../../shared/citation.ts';
import type { Store } from '../../store/store.ts';
import { apaReference } from './apa.ts';
import { bibtexEntry } from './bibtex.ts';
import type { CitedWork } from './citedWork.ts';
import { cslItem } from './csl.ts';
import { dataciteRecord } from './datacite.ts';
import { type CitationContext, readCitedWork } from './readCitedWork.ts';
import { risRecord } from './ris.ts';

/** Returns the citation of a pack or a study in all text formats. @throws Problem `not_found` */
export function cite({ read }: Pick<Store, 'read'>, id: string, from: CitationContext): Citation {
  const work = readCitedWork(read, id, from);
  return {
    id: work.id,
    url: work.url,
    digest: work.digest,
    csl: cslItem(work),
    apa: apaReference(work),
    bibtex: bibtexEntry(work),
    ris: risRecord(work),
  };
}

const FORMS: Record<CitationFormat, (work: CitedWork) => string> = {
  bibtex: bibtexEntry,
  ris: risRecord,
  'csl-json': (work) => JSON.stringify(cslItem(work)),
  apa: (work) => `${apaReference(work)}\n`,
  datacite: (work) => JSON.stringify(dataciteRecord(work)),
};

/** Returns the citation in one format, as the text of a file. @throws Problem `not_found` */
export function citeAs(
  { read }: Pick<Store, 'read'>,
  id: string,
  from: CitationContext,
  format: CitationFormat,
): string {
  return FORMS[format](readCitedWork(read, id, from));
}
