import type { ObjectText } from '../../../../shared/collection/derived.ts';
import type { Follow } from '../../../../shared/collection/follow.ts';
import type { NoiseFindings, NoiseRule } from '../../../../shared/collection/noise.ts';
import type { MissingResource } from '../../../../shared/collection/view.ts';
import type { MediaKind } from '../body/mediaKind.ts';
import type { Tool } from '../extract/textTools.ts';

/** An archived object as sent to the derive process: the file of its bytes and the headers it arrived with. */
export interface ObjectToRead {
  sha256: string;
  /** The blob's file; always a path returned by the store. */
  file: string;
  /** The bytes themselves, if they are not stored: then there is no file. */
  bytes?: Uint8Array;
  contentType: string | null;
  /** `Content-Encoding` as received; the stored bytes are still encoded. */
  contentEncoding: string | null;
  /** The key of the source that first brought it. Slow documents are attributed to it. */
  source?: number;
}

/** Extract the readable text of one object. */
export interface TextTask {
  task: 'text';
  object: ObjectToRead;
}

/** Compare two versions without the parts that the noise rules ignore. */
export interface DiffTask {
  task: 'diff';
  from: ObjectToRead;
  to: ObjectToRead;
  rules: readonly NoiseRule[];
  /** Why only the bytes are compared, or null. */
  onlyBytes: string | null;
}

/** Decide whether the rules explain every change between two versions. */
export interface NoiseTask {
  task: 'noise';
  from: ObjectToRead;
  to: ObjectToRead;
  rules: readonly NoiseRule[];
}

/** The archive's capture of an address that a page refers to. */
export interface HeldCapture {
  object: ObjectToRead;
  /** The id of its source. */
  source: string;
  /** The time of the capture. */
  moment: string;
}

/** Make an archived page that can be shown without scripts and without requests. */
export interface PageTask {
  task: 'page';
  object: ObjectToRead;
  /** The address that it was retrieved from. */
  url: string;
  /** The addresses that were looked up, with the capture to use or null. */
  captures: readonly (readonly [address: string, capture: HeldCapture | null])[];
  /** Whether addresses that were not looked up count as not held. */
  isLast: boolean;
}

/** Read the addresses that an object links to or lists. */
export interface LinksTask {
  task: 'links';
  object: ObjectToRead;
  /** The address that relative ones are resolved against. */
  url: string;
  /** The normalized address of the source, which is left out. */
  self: string;
  follow: Follow;
  /** The hosts that are followed without a `match`. */
  hosts: readonly string[];
  /** Addresses that were found before. */
  known: readonly string[];
}

/** The tasks of the derive process. */
export type DeriveTask = TextTask | DiffTask | NoiseTask | PageTask | LinksTask;

/** The text of an object as it is stored and sent. */
export type TextContent = Pick<ObjectText, 'kind' | 'title' | 'text' | 'links' | 'pages' | 'truncated'>;

export interface TextResult extends Tool {
  mediaKind: MediaKind;
  title: string | null;
  /** The beginning of the text, which is indexed for full-text search. */
  searched: string;
  /** The stored document: `compressContent` of a `TextContent`. */
  content: Uint8Array;
}

export interface DiffResult {
  /** What changed, in a few words; null if there is nothing to say. */
  summary: string | null;
  noise: NoiseFindings;
  /** `compressContent` of a `Comparison`. */
  content: Uint8Array;
}

/** A page that can be shown. */
export interface MadePage {
  /** UTF-8. */
  html: Uint8Array;
  title: string | null;
  /** The captures that were put into the page. */
  used: { url: string; sha256: string; moment: string }[];
  missing: MissingResource[];
  /** Whether the end of the page is left out. */
  truncated: boolean;
}

/** A page, or the addresses that must be looked up before it can be made. */
export type PageResult = { page: MadePage } | { wanted: string[] };

/** The addresses of an object. */
export interface LinksResult {
  /** Those that match, in the order of the document. */
  links: { url: string; title: string }[];
  /** Of the known addresses, those that are still there, whether they match or not. */
  linked: string[];
  /** The sitemaps of an index. */
  sitemaps: string[];
  /** The number of different addresses that were read. */
  listed: number;
  complete: boolean;
}

/** The result of each task. */
export interface TaskResults {
  text: TextResult;
  diff: DiffResult;
  noise: NoiseFindings;
  page: PageResult;
  links: LinksResult;
}

export type ResultOf<Task extends DeriveTask> = TaskResults[Task['task']];
