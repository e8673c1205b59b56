import { parentPort, workerData } from 'node:worker_threads';
import { ROUTES } from '../../../shared/routes.ts';
import { openApiDocument } from '../openapi/document.ts';
import type { Description, DescriptionInput } from './describe.ts';
import { docsPage } from './page.ts';

const { node, origin } = workerData as DescriptionInput;
try {
  const document = openApiDocument(ROUTES, node);
  const result: Description = { openapi: JSON.stringify(document), page: docsPage(document, origin) };
  parentPort?.postMessage({ result });
} catch (error) {
  parentPort?.postMessage({ failure: error instanceof Error ? error.message : String(error) });
}
