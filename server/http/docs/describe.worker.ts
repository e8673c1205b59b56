import { workerData } from 'node:worker_threads';
import { ROUTES } from '../../../shared/routes.ts';
import { answerParent } from '../../runtime/answerParent.ts';
import { openApiDocument } from '../openapi/document.ts';
import type { Description, DescriptionInput } from '../routes/node.ts';
import { docsPage } from './page.ts';

const { node, origin } = workerData as DescriptionInput;
await answerParent((): Description => {
  const document = openApiDocument(ROUTES, node);
  return { openapi: JSON.stringify(document), page: docsPage(document, origin) };
});
