/** One entry of a file of citations. The texts are not cut to what a pack may have. */
export interface Citation {
  /** `dataset` for data and software, which a pack is made of; `text` for what a pack belongs to. */
  kind: 'dataset' | 'text';
  title: string;
  authors: { name: string; orcid: string | null; affiliation: string }[];
  summary: string;
  keywords: string[];
  doi: string | null;
  year: string | null;
}

/** The file is not of the format; the message is a sentence. */
export class InvalidCitationsError extends Error {
  constructor(sentence: string) {
    super(sentence);
    this.name = 'InvalidCitationsError';
  }
}

/** What was read, and what could not be. */
export interface ReadCitations {
  citations: Citation[];
  warnings: string[];
}

const ORCID =
  /\s*[[({]?\s*(?:orcid:?\s*)?(?:https?:\/\/orcid\.org\/)?(\d{4}-\d{4}-\d{4}-\d{3}[\dX])\s*[\])}]?/i;

/** Splits off an ORCID iD that somebody wrote behind a name. The iD is not checked. */
export function nameAndOrcid(text: string): { name: string; orcid: string | null } {
  const found = ORCID.exec(text.slice(0, 1_000));
  if (!found) return { name: text.trim(), orcid: null };
  return { name: text.replace(found[0], '').trim(), orcid: found[1]?.toUpperCase() ?? null };
}

/** Returns the year in a date of any form. */
export function yearIn(date: string): string | null {
  return /(?:^|\D)(\d{4})(?:\D|$)/.exec(date.slice(0, 100))?.[1] ?? null;
}

/** Splits keywords that are written in one text. */
export function splitKeywords(text: string): string[] {
  const separator = text.includes(';') ? ';' : /[,\n]/;
  return text.split(separator).map((word) => word.trim());
}

/** Whether a type, in the words of any of the formats, is of data or software. */
export function kindOf(type: string): Citation['kind'] {
  return /^(data(set)?|software|comp|computerprogram|misc-dataset|dataset|aggr|dbase)$/i.test(type.trim())
    ? 'dataset'
    : 'text';
}
