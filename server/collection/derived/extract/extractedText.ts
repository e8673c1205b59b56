import type { MediaKind } from '../body/mediaKind.ts';

/** A link as it appears in the document: its text and its unresolved target. */
export interface Link {
  text: string;
  href: string;
}

/** The kinds that text is extracted from. */
export type TextKind = Exclude<MediaKind, 'image' | 'other'>;

/** The readable text of an object. Pages of a PDF are separated by form feeds (U+000C). */
export interface ExtractedText {
  kind: TextKind;
  title: string | null;
  text: string;
  links?: Link[];
  pages?: number;
  /** Whether something was left out because of its length or depth. */
  truncated: boolean;
}

/** The result of the extractor of one kind; `extractText` truncates it to the limits. */
export type Extraction = Omit<ExtractedText, 'kind'>;
