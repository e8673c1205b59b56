import type { ObjectText } from '../../../shared/derived.ts';
import type { NoiseFindings, NoiseRule } from '../../../shared/noise.ts';
import type { MediaKind } from './mediaKind.ts';
import type { Tool } from './tools.ts';

/** An archived object as the worker is told of it: where its bytes lie and how they came. */
export interface ObjectToRead {
  sha256: string;
  /** The blob's file; only ever a path that the store gave. */
  file: string;
  contentType: string | null;
  /** `Content-Encoding` as it came: the stored bytes are still encoded. */
  contentEncoding: string | null;
  /** The source that first brought it, by its key: whose documents take long is held against it alone. */
  source?: number;
}

/** Make the readable text of one object. */
export interface TextTask {
  task: 'text';
  object: ObjectToRead;
}

/** Compare two versions, with what the rules name left out of both. */
export interface DiffTask {
  task: 'diff';
  from: ObjectToRead;
  to: ObjectToRead;
  rules: readonly NoiseRule[];
  /** Why only the bytes are to be compared, or null. */
  onlyBytes: string | null;
}

/** Tell whether the rules explain all that changed between two versions. */
export interface NoiseTask {
  task: 'noise';
  from: ObjectToRead;
  to: ObjectToRead;
  rules: readonly NoiseRule[];
}

/** What can be asked of the derive worker. */
export type DeriveTask = TextTask | DiffTask | NoiseTask;

/** The text of an object as it is kept and answered with. */
export type TextContent = Pick<ObjectText, 'kind' | 'title' | 'text' | 'links' | 'pages' | 'truncated'>;

export interface TextResult extends Tool {
  mediaKind: MediaKind;
  title: string | null;
  /** What full-text search looks through: the beginning of the text. */
  searched: string;
  /** The document as it is kept: `compressContent` of a `TextContent`. */
  content: Uint8Array;
}

export interface DiffResult {
  noise: NoiseFindings;
  /** `compressContent` of a `Comparison`. */
  content: Uint8Array;
}

/** What each task gives back. */
export interface TaskResults {
  text: TextResult;
  diff: DiffResult;
  noise: NoiseFindings;
}

export type ResultOf<Task extends DeriveTask> = TaskResults[Task['task']];
