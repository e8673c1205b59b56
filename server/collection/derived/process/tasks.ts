import { promisify } from 'node:util';
import { deflateSync, inflate, inflateSync } from 'node:zlib';
import type { Conditions } from '../../../../shared/alerts/alert.ts';
import type { ObjectText } from '../../../../shared/collection/derived.ts';
import type { Follow } from '../../../../shared/collection/follow.ts';
import type {
  ChosenElement,
  NoiseFindings,
  Scope,
  WatchChoice,
  WatchOutcome,
} from '../../../../shared/collection/noise.ts';
import type { Region } from '../../../../shared/collection/page.ts';
import type { MissingResource } from '../../../../shared/collection/view.ts';
import type { DerivedPassage, Passage, PassageAnchor } from '../../../../shared/findings/finding.ts';
import type { Words } from '../../noise/words.ts';

/** An archived object as sent to the derive process: the file of its bytes and the headers it arrived with. */
export interface ObjectToRead {
  sha256: string;
  /** The blob's file: a path returned by the store, or one that the person at the command line named. */
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

/** Read the beginning of a stored text, for the index. */
export interface SearchedTask {
  task: 'searched';
  /** The stored document: `compressContent` of a `TextContent`. */
  content: Uint8Array;
}

/** Look for words in a stored text. */
interface WordsTask {
  task: 'words';
  words: Words;
  /** The stored document: `compressContent` of a `TextContent`. */
  content: Uint8Array;
}

/** A text as it is stored, with the tool that made it. An object without a text has no content. */
export interface StoredText {
  tool: string;
  version: string;
  /** `compressContent` of a `TextContent`. */
  content: Uint8Array | null;
}

/** What is done with a passage is slow where a text is long. It is attributed to the source of the object. */
interface OfSource {
  source?: number | undefined;
}

/** Place a quotation in the text of its object. */
interface PlaceTask extends OfSource {
  task: 'place';
  passage: Passage;
  text: StoredText;
}

/** Find the element or the box of a passage that was placed in the text. */
interface PlaceInDocumentTask {
  task: 'place_in_document';
  passage: Passage;
  object: ObjectToRead;
}

/** Find a passage in the text that is made of its object now. */
interface AnchorTask extends OfSource {
  task: 'anchor';
  passage: Passage;
  text: StoredText;
}

/** Compare what a version says at the place of a passage with what the version before it said. */
export interface PassageChangeTask extends OfSource {
  task: 'passage_change';
  passage: Passage;
  /** The texts of the quoted object and of the version. */
  quoted: StoredText;
  now: StoredText;
  /** The text of the version before. Undefined if that is the quoted one, or cannot be read. */
  earlier: StoredText | undefined;
}

/** What became of a passage: the words that are at its place now, or null if there are none. */
export interface PassageChange {
  after: string | null;
}

/** Look for quoted words in bytes, as evidence files do. */
interface SeeTask extends OfSource {
  task: 'see';
  passage: Passage;
  bytes: Uint8Array;
  mediaType: string;
}

/** Compare two versions: what is watched, without the parts that the noise rules ignore. */
export interface DiffTask {
  task: 'diff';
  from: ObjectToRead;
  to: ObjectToRead;
  scope: Scope;
  /** Why only the bytes are compared, or null. */
  onlyBytes: string | null;
}

/** Decide whether the watched part and the rules leave nothing of the change between two versions. */
interface NoiseTask {
  task: 'noise';
  from: ObjectToRead;
  to: ObjectToRead;
  scope: Scope;
}

/** Decide whether a change, or a first version, meets conditions within what is watched. */
export interface ConditionsTask {
  task: 'conditions';
  from: ObjectToRead;
  to: ObjectToRead;
  /** Whether there is no older version: `from` is the same as `to` then. */
  isFirst: boolean;
  scope: Scope;
  conditions: Conditions;
}

/** Find what is watched of one version. */
export interface WatchedTask {
  task: 'watched';
  object: ObjectToRead;
  scope: Scope;
}

/** Find which ways to name an element of a page work. */
export interface ChoicesTask extends ChosenElement {
  task: 'choices';
  object: ObjectToRead;
}

/** What is watched of a version. */
export interface WatchedResult {
  watch: WatchOutcome | null;
  /** The beginning of what is compared, as text; null if it cannot be read. */
  text: string | null;
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

/** Compare two pictures of a page. */
interface PicturesTask {
  task: 'pictures';
  from: ObjectToRead;
  to: ObjectToRead;
}

/** Make a small image of the upper part of a page's picture. */
interface ThumbnailTask {
  task: 'thumbnail';
  object: ObjectToRead;
}

/** How two pictures of a page differ. */
export interface PictureComparison {
  /** The share of pixels that changed, moved rows aside. */
  share: number;
  /** What changed, in the pixels of the newer picture, from top to bottom. */
  regions: Region[];
}

/** The tasks of the derive process. */
export type DeriveTask =
  | TextTask
  | SearchedTask
  | WordsTask
  | PlaceTask
  | PlaceInDocumentTask
  | AnchorTask
  | PassageChangeTask
  | SeeTask
  | DiffTask
  | NoiseTask
  | ConditionsTask
  | WatchedTask
  | ChoicesTask
  | PageTask
  | LinksTask
  | PicturesTask
  | ThumbnailTask;

/** The text of an object as it is stored and sent. */
export type TextContent = Pick<ObjectText, 'kind' | 'title' | 'text' | 'links' | 'pages' | 'truncated'>;

export interface TextResult extends Tool {
  title: string | null;
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

/** Where a passage is in the document itself, beside its place in the text that is made of it. */
export type InDocument = Pick<DerivedPassage, 'dom_path' | 'box'>;

/** The result of each task. */
export interface TaskResults {
  text: TextResult;
  /** The beginning of the text, which is indexed for full-text search. */
  searched: string;
  words: boolean;
  /** The passage as it was given if the text does not have it at one place. */
  place: Passage;
  place_in_document: InDocument;
  anchor: PassageAnchor;
  passage_change: PassageChange | 'unknown' | null;
  /** Whether the words are there, or the bytes cannot be read as text. */
  see: boolean;
  diff: DiffResult;
  noise: NoiseFindings;
  conditions: boolean;
  watched: WatchedResult;
  choices: WatchChoice[];
  page: PageResult;
  links: LinksResult;
  pictures: PictureComparison;
  thumbnail: { png: Uint8Array };
}

export type ResultOf<Task extends DeriveTask> = TaskResults[Task['task']];

/** The tool that made a derived document. The version is that of this program's rules, then `+` and the library. */
interface Tool {
  tool: string;
  toolVersion: string;
}

function tool(name: string, rules: string, library?: string): Tool {
  return { tool: `strongroom-${name}`, toolVersion: library ? `${rules}+${library}` : rules };
}

/**
 * The tool that extracts the text of each kind of object. A change to the output must raise the first number: documents
 * of other versions are then derived again. A test compares the libraries' versions with `package.json`.
 */
export const TEXT_TOOLS = {
  html: tool('html-text', '1', 'html-to-text.10.0.1'),
  pdf: tool('pdf-text', '1', 'pdfjs-dist.6.5.438'),
  json: tool('json-text', '1', 'jsonc-parser.3.3.1'),
  csv: tool('csv-text', '1', 'csv-parse.7.0.3'),
  xml: tool('xml-text', '1', 'cheerio.1.2.0'),
  text: tool('plain-text', '1'),
} as const satisfies Record<string, Tool>;

/** Recorded for objects without text. Combines all versions, because a new version of any tool may find a text. */
export const NO_TEXT_TOOL: Tool = tool(
  'text',
  '1',
  Object.values(TEXT_TOOLS)
    .map(({ toolVersion }) => toolVersion.replace('+', '.'))
    .join('.'),
);

const CURRENT = [...Object.values(TEXT_TOOLS), NO_TEXT_TOOL];
/** The current tools, each as `tool version`. */
export const CURRENT_TEXT_TOOLS: readonly string[] = CURRENT.map(
  ({ tool, toolVersion }) => `${tool} ${toolVersion}`,
);

/** Why nothing could be derived from an object. */
const NOT_DERIVABLE_REASONS = [
  'unsupported',
  'too_large',
  'damaged',
  'encrypted',
  'time_out',
  'out_of_memory',
  'tool_failed',
  'object_missing',
  'released',
  'object_damaged',
] as const;

export type NotDerivableReason = (typeof NOT_DERIVABLE_REASONS)[number];

/**
 * Reasons that concern this node's disk, most of which may go away. Nothing is stored for them. The others hold until the
 * tool's version changes.
 */
const TRANSIENT: ReadonlySet<string> = new Set<NotDerivableReason>([
  'object_missing',
  'object_damaged',
  'released',
]);

/** Returns whether an outcome is stored, so that the derivation is not tried again. */
export function isPermanent(outcome: string): boolean {
  return !TRANSIENT.has(outcome);
}

/** Nothing could be derived; the message is a sentence for the reader. */
export class NotDerivableError extends Error {
  readonly reason: NotDerivableReason;

  constructor(reason: NotDerivableReason, sentence: string, cause?: unknown) {
    super(sentence, cause === undefined ? undefined : { cause });
    this.name = 'NotDerivableError';
    this.reason = reason;
  }
}

/** Larger than the content of any derived document. */
const MAX_CONTENT_BYTES = 33_554_432;

/** Returns a document's content as it is stored: compressed JSON. Slow; runs in the derive process. */
export function compressContent(content: unknown): Uint8Array {
  return deflateSync(JSON.stringify(content));
}

/** Parses content written by `compressContent`. */
export function decompressContent<Content>(compressed: Uint8Array): Content {
  return JSON.parse(inflateSync(compressed, { maxOutputLength: MAX_CONTENT_BYTES }).toString()) as Content;
}

/** Returns the JSON text of content written by `compressContent`. Decompresses in the thread pool, as it may be long. */
export async function decompressJson(compressed: Uint8Array): Promise<string> {
  return (await promisify(inflate)(compressed, { maxOutputLength: MAX_CONTENT_BYTES })).toString();
}
