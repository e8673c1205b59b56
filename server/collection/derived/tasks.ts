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
}

/** Make the readable text of one object. */
export interface TextTask {
  task: 'text';
  object: ObjectToRead;
}

/** What can be asked of the derive worker. */
export type DeriveTask = TextTask;

export interface TextResult extends Tool {
  mediaKind: MediaKind;
  title: string | null;
  /** What full-text search looks through: the beginning of the text. */
  searched: string;
  /** The document as it is kept: `packContent` of a `TextContent`. */
  content: Uint8Array;
}

/** What each task gives back. */
export interface TaskResults {
  text: TextResult;
}

export type ResultOf<Task extends DeriveTask> = TaskResults[Task['task']];
