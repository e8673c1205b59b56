import type { MediaKind } from './mediaKind.ts';

/** A link as it stands in the document: what it says, and where it leads, not resolved. */
export interface Link {
  text: string;
  href: string;
}

/** The kinds of which there is a text. */
export type TextKind = Exclude<MediaKind, 'image' | 'other'>;

/** The readable text of an object. Pages of a PDF are parted by form feeds (U+000C). */
export interface ExtractedText {
  kind: TextKind;
  title: string | null;
  text: string;
  links?: Link[];
  pages?: number;
  /** Whether something was left out for its length or depth. */
  truncated: boolean;
}

/** What the reader of one kind finds; `extractText` bounds it. */
export type Found = Omit<ExtractedText, 'kind'>;
