import { runWorker, workerUrl } from '../../runtime/runWorker.ts';
import type { DescribedNode } from '../openapi/document.ts';

export interface DescriptionInput {
  node: DescribedNode;
  /** The node's address in the page's examples. */
  origin: string;
}

/** The interface as it is described: the OpenAPI document as JSON, and as a page to read. */
export interface Description {
  openapi: string;
  page: string;
}

/** Makes the description in a thread of its own: it takes a tenth of a second, and requests go on meanwhile. */
export function describe(input: DescriptionInput): Promise<Description> {
  return runWorker<Description>(workerUrl('describe', import.meta.url), input);
}
