import type { ObjectText } from '../../../../shared/collection/derived.ts';
import type { NoiseFindings, NoiseRule } from '../../../../shared/collection/noise.ts';
import type { MediaKind } from '../body/mediaKind.ts';
import type { Tool } from '../extract/textTools.ts';

/** An archived object as sent to the derive process: the file of its bytes and the headers it arrived with. */
export interface ObjectToRead {
  sha256: string;
  /** The blob's file; always a path returned by the store. */
  file: string;
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

/** The tasks of the derive process. */
export type DeriveTask = TextTask | DiffTask | NoiseTask;

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
  noise: NoiseFindings;
  /** `compressContent` of a `Comparison`. */
  content: Uint8Array;
}

/** The result of each task. */
export interface TaskResults {
  text: TextResult;
  diff: DiffResult;
  noise: NoiseFindings;
}

export type ResultOf<Task extends DeriveTask> = TaskResults[Task['task']];
