import { runInThread } from '../../runtime/runInThread.ts';
import type { DescribedNode } from '../openapi/document.ts';

export interface DescriptionInput {
  node: DescribedNode;
  /** The node's address in the page's examples. */
  origin: string;
}

/** The documentation of the API: the OpenAPI document as JSON, and as an HTML page. */
export interface Description {
  openapi: string;
  page: string;
}

/** Generates the documentation in a worker thread. It takes about 0.1 s, which would block other requests. */
export function describe(input: DescriptionInput): Promise<Description> {
  return runInThread<Description>('describe', input);
}
